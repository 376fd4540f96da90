"""What a run stands on: a master, and an address under which the tasks find us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from ...config.launch import LaunchConfig
from ...config.secret import Secret
from ...errors import MasterError, SpecError
from ...json_types import Json
from ...mesos.api import masters
from ...mesos.api.addresses import UnknownHost, local_address_towards
from ...mesos.api.auth import tls_context
from ...mesos.api.masters import Masters
from ...mesos.api.retries import Timing
from ...mesos.containers import choice
from ...mesos.driver import MesosDriver
from ...mesos.engine import MesosEngine
from ...mesos.offers import Seat
from ...mesos.story import MesosStory
from ...node.address import join_address
from ..links.listener import Listener
from ..links.messages import runner_command
from ..screen.story import EngineStory
from .engine import Emit, Expect, Say, UnlessStopped
from .listening import link_tls, listen_for_all

FIND_MASTER_WITHIN = 8.0  # seconds, at first
RECONNECT_WITHIN = 100.0  # seconds for a lost master, or another one, to be there again
RETRY_EVERY = 0.5  # seconds between two attempts to find the way to a master


class MesosSetup:
    def __init__(
        self,
        config: LaunchConfig,
        run_id: str,
        say: Say,
        named: Callable[[str], str],
        unless_stopped: UnlessStopped,
    ) -> None:
        self._config, self._run_id = config, run_id
        self._say, self._named, self._unless_stopped = say, named, unless_stopped
        self._began_at = 0.0
        self._said = ""  # the last trouble on the way to a master
        self.tls = tls_context(config.access)
        self.credential: tuple[str, Secret] | None = None
        self.scratch: str | None = None  # the embedded Mesos's directory
        self.certificate = ""  # the hash of the run's, if its links use TLS
        self.masters: Masters
        self.story: EngineStory = MesosStory()

    @property
    def remark(self) -> str:
        return choice(self._config, self._named)

    @property
    def kept(self) -> str:
        return "" if self._config.is_local else "; the sandbox has them all"  # else it goes with us

    @property
    def timing(self) -> Timing:
        """Look for a first master a little less long than for everything together."""
        timeout = self._config.start_timeout
        passed = asyncio.get_running_loop().time() - self._began_at
        within = FIND_MASTER_WITHIN if timeout is None else max(0.9 * timeout - passed, 0.0)
        return Timing(
            give_up_after=within, await_names=timeout is not None, reconnect_for=RECONNECT_WITHIN
        )

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        """Find the masters that are named, or make an embedded Mesos, which goes with *stack*."""
        self._began_at = began_at
        access = self._config.access
        if not self._config.is_local:
            if access.principal and access.secret:
                self.credential = (access.principal, access.secret)
            self.masters = masters.parse(self._config.master, tls=access.speaks_tls)
            return
        from .embedded import embedded_mesos, provide_images  # not cheap, and often not needed

        if self._config.images:
            await self._unless_stopped(provide_images(self._config, self._notice))
        mesos, self.credential = embedded_mesos(self._config, self._run_id, self._notice)
        await stack.enter_async_context(mesos)
        stack.callback(lambda: mesos.hurry() if is_hurried() else None)
        self.scratch = str(mesos.directory)
        self.masters = masters.parse(mesos.url)

    def _notice(self, text: str) -> None:
        self._say(text, "notice")

    async def listen(self, listener: Listener) -> str:
        """Have *listener* listen where the tasks can reach it, and say where that is."""
        host, port = self._config.advertise or (await self._own_host(), 0)
        tls, self.certificate = link_tls(self._config, host, self._run_id)
        if self._config.advertise is None:
            return join_address(*await listener.listen(host, 0, tls))
        if self._config.is_local and not self._config.images:
            await self._unless_stopped(_check_host(host))
        return await listen_for_all(listener, host, port, tls)

    def driver(self, decider: MesosEngine, emit: Emit, expect: Expect) -> MesosDriver:
        def command_of(task_id: str, seat: Seat) -> Json:
            if seat.other_port:
                self._say(seat.other_port, "notice")
            told = expect(task_id, seat.task, seat.port, seat.gpu_ids)
            return runner_command(self._config, seat.task.job, *told)

        return MesosDriver(
            self._config,
            self._run_id,
            self.masters,
            decider,
            emit,
            command_of,
            self._say,
            self._named,
            credential=self.credential,
            tls=self.tls,
            timing=self.timing,
        )

    async def _own_host(self) -> str:
        if self._config.is_local:
            return "127.0.0.1"
        return await self._unless_stopped(self._address_towards_masters())

    async def _address_towards_masters(self) -> str:
        """Our address as a master sees it; names may take a while to be found."""
        clock = asyncio.get_running_loop().time
        timing = self.timing
        end = clock() + timing.give_up_after
        while True:
            began = clock()
            try:
                return await _first_address(await self.masters.candidates())
            except MasterError as error:
                took = clock() - began
                is_hopeless = isinstance(error, UnknownHost) and not timing.await_names
                if is_hopeless or clock() + RETRY_EVERY + took > end:  # the next comes too late
                    raise
                self._say_once(f"no Mesos master yet: {error}")
            await asyncio.sleep(RETRY_EVERY)

    def _say_once(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._notice(text)


async def _check_host(host: str) -> None:
    """The tasks are on this machine and know no more hosts than we do."""
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None)
    except OSError as error:
        problem = f"{host!r} is no host that this machine knows: {error.strerror}"
        raise SpecError(None, "advertise", problem) from None


async def _first_address(candidates: Sequence[str]) -> str:
    problems = []
    for candidate in candidates:
        try:
            return await asyncio.to_thread(local_address_towards, candidate)
        except MasterError as error:
            problems.append(error)
    kind = UnknownHost if all(isinstance(it, UnknownHost) for it in problems) else MasterError
    raise kind("; ".join(map(str, problems)))
