"""Sets up a run on Mesos: a master, and an address at which the tasks reach us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from ...config.secret import Secret
from ...errors import MasterError
from ...json_types import Json
from ...launcher.links.listener import Listener
from ..api import Context, Emit, Expect, Setup
from ..listening import listen_as_before
from ..own_address import UnknownHost, local_address_towards
from .api import masters
from .api.addresses import MASTER_PORT
from .api.auth import tls_context
from .api.masters import Masters
from .api.retries import Timing
from .containers import choice
from .driver import MesosDriver
from .engine import MesosEngine
from .offers import Seat
from .runner_command import runner_command
from .story import MesosStory

FIND_MASTER_WITHIN = 8.0  # seconds, at first
RECONNECT_WITHIN = 100.0  # seconds for a lost master, or another one, to come back
RETRY_EVERY = 0.5  # seconds between two attempts to find the way to a master


class MesosSetup(Setup):
    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = config = context.config
        self._say = context.say
        self._began_at = 0.0
        self._said = ""  # the last trouble on the way to a master
        self.tls = tls_context(config.access)
        self.credential: tuple[str, Secret] | None = None
        self.masters: Masters
        self.story = MesosStory()

    @property
    def remark(self) -> str:
        return choice(self._config, self._context.named)

    @property
    def kept(self) -> str:
        return "; the sandbox has them all"

    @property
    def timing(self) -> Timing:
        """Give the search for a first master slightly less time than the whole start."""
        timeout = self._config.start_timeout
        passed = asyncio.get_running_loop().time() - self._began_at
        within = FIND_MASTER_WITHIN if timeout is None else max(0.9 * timeout - passed, 0.0)
        return Timing(
            give_up_after=within, await_names=timeout is not None, reconnect_for=RECONNECT_WITHIN
        )

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        self._began_at = began_at
        access = self._config.access
        if access.principal and access.secret:
            self.credential = (access.principal, access.secret)
        self.masters = masters.parse(self._config.master, tls=access.speaks_tls)

    def _notice(self, text: str) -> None:
        self._say(text, "notice")

    async def listen(self, listener: Listener) -> str:
        """Have *listener* listen where the tasks can reach it, and say where that is."""
        launcher, self.certificate = await listen_as_before(listener, self._context, self._own_host)
        return launcher

    def driver(self, decider: MesosEngine, emit: Emit, expect: Expect) -> MesosDriver:
        def command_of(task_id: str, seat: Seat) -> Json:
            told = expect(task_id, seat.task, seat.port, seat.gpu_ids)
            return runner_command(self._config, seat.task.job, *told)

        return MesosDriver(
            self._context,
            self.masters,
            decider,
            emit,
            command_of,
            credential=self.credential,
            tls=self.tls,
            timing=self.timing,
        )

    async def _own_host(self) -> str:
        return await self._context.unless_stopped(self._address_towards_masters())

    async def _address_towards_masters(self) -> str:
        """Our address as a master sees it; resolving names may take a while."""
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


async def _first_address(candidates: Sequence[str]) -> str:
    problems = []
    for candidate in candidates:
        try:
            return await asyncio.to_thread(local_address_towards, candidate, MASTER_PORT)
        except MasterError as error:
            problems.append(error)
    kind = UnknownHost if all(isinstance(it, UnknownHost) for it in problems) else MasterError
    raise kind("; ".join(map(str, problems)))
