"""One run: the loop that joins Mesos, the runners and the screen with ``lifecycle``.

It decides nothing. Whatever happens becomes an event; what the state answers is carried out.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import socket
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from . import actions as do
from . import events as happened
from . import masters, payload, wire
from .actions import Action, ClusterSpec, Outcome
from .client import MesosClient
from .client_patience import Timing
from .console import Console
from .errors import ResourcesError, TFMesosError
from .lifecycle import ClusterState, Phase
from .masters import Masters
from .offers import Seat
from .rendezvous import Rendezvous
from .spec import LaunchConfig, Task
from .task_info import FAILOVER_TIMEOUT, command_info, framework_info, task_info
from .translate import translate

log = logging.getLogger(__name__)

Json = dict[str, Any]

RUNNER_GRACE = 30.0  # seconds a runner looks for a lost launcher before it gives up
LOCAL_GRACE = 2.0  # the same on this machine, where a lost launcher has ended
CONNECT_TIMEOUT = 20.0  # seconds a runner tries to reach the launcher at first
MASTER_PATIENCE = 8.0  # seconds to find a master at first
LONG_REFUSAL = 3600.0
STATUS_EVERY = 0.1  # seconds between two versions of the live line, at least


class Run:
    def __init__(
        self,
        config: LaunchConfig,
        console: Console,
        *,
        on_ready: Callable[[ClusterSpec], None] = lambda cluster: None,
    ) -> None:
        self.config, self._console, self._on_ready = config, console, on_ready
        self.id = f"tfmesos-{secrets.token_hex(4)}"
        self._secret = secrets.token_bytes(32)
        self._names: dict[str, str] = {}  # task id -> name on the screen
        self._events: asyncio.Queue[happened.Event] = asyncio.Queue()
        self._calls: asyncio.Queue[Callable[[], Awaitable[bool]]] = asyncio.Queue()
        self._outcome: Outcome | None = None
        self._hurried = False
        self._next_status = 0.0
        self._client: MesosClient
        self._rendezvous: Rendezvous
        self._state: ClusterState
        self._launcher = ""  # where the runners find us
        self._credential: tuple[str, str] | None = None
        self._scratch: str | None = None  # the embedded Mesos's directory

    def request_stop(self, reason: str, exit_code: int) -> None:
        """End the run: in good order the first time, at once the second time."""
        self._hurried = self._state.phase is Phase.STOPPING
        self._events.put_nowait(happened.StopRequested(reason, exit_code))

    async def go(self) -> Outcome:
        """Live the whole run, and return how it ended. Nothing is left of it then."""
        loop = asyncio.get_running_loop()
        self._state = ClusterState(
            self.config.tasks,
            self.id,
            loop.time(),
            start_timeout=self.config.start_timeout,
            jitter=secrets.SystemRandom().random,
        )
        async with AsyncExitStack() as stack:
            try:
                await self._open(stack)
            except TFMesosError as error:
                return Outcome(error=error)
            outcome = await self._live()
        self._console.status("")
        return outcome

    # Setting up

    async def _open(self, stack: AsyncExitStack) -> None:
        leaders = await self._find_master(stack)
        grace = LOCAL_GRACE if self.config.is_local else RUNNER_GRACE
        self._rendezvous = await stack.enter_async_context(
            Rendezvous(self.id, self._secret, self._events.put_nowait, self._output, grace=grace)
        )
        self._launcher = await self._listen(leaders)
        self._client = MesosClient(
            leaders,
            framework_info(self.config, self.id, socket.gethostname()),
            self._emit,
            credential=self._credential,
            on_state=lambda line: self._console.say(line),
            timing=self._patience(),
        )

    def _patience(self) -> Timing:
        """Look for a first master a little less long than for everything together."""
        timeout = self.config.start_timeout
        give_up_after = MASTER_PATIENCE if timeout is None else 0.9 * timeout
        return Timing(give_up_after=give_up_after, reconnect_for=FAILOVER_TIMEOUT)

    async def _find_master(self, stack: AsyncExitStack) -> Masters:
        if not self.config.is_local:
            return masters.parse(self.config.master)
        from .local import LocalMesos, this_machine

        jobs = self.config.jobs
        cpus, mem = (sum(getattr(j, f) * len(j.tasks) for j in jobs) for f in ("cpus", "mem"))
        agent, is_overcommitted = this_machine(cpus, mem)
        self._check_gpus(agent.resources)
        if is_overcommitted:
            total = f"cpus {cpus:g}, mem {mem:g}"
            self._console.say(f"the tasks ask for more than this machine has ({total})", "info")
        self._credential = (self.id, secrets.token_hex(32))
        mesos = await stack.enter_async_context(LocalMesos([agent], credential=self._credential))
        stack.callback(lambda: mesos.hurry() if self._hurried else None)
        self._scratch = str(mesos.directory)
        return masters.parse(mesos.url)

    def _check_gpus(self, resources: str) -> None:
        """GPUs cannot be promised beyond what there is, so the wait would never end."""
        wanted = sum(job.gpus * len(job.tasks) for job in self.config.jobs)
        offered = dict(part.split(":", 1) for part in resources.split(";")).get("gpus", "0")
        if wanted > float(offered):
            raise ResourcesError(
                f"the tasks ask for {wanted} gpus, this machine has {offered}: "
                "ask for fewer, or name a Mesos master that has them"
            )

    async def _listen(self, leaders: Masters) -> str:
        if self.config.advertise is not None:
            host, port = self.config.advertise
            _, port = await self._rendezvous.listen("", port)
            return wire.join_address(host, port)
        host = "127.0.0.1"
        if not self.config.is_local:
            (leader, *_) = await leaders.candidates()
            host = await asyncio.to_thread(masters.local_address_towards, leader)
        return wire.join_address(*await self._rendezvous.listen(host, 0))

    # Living

    async def _live(self) -> Outcome:
        async with asyncio.TaskGroup() as group:
            workers = [group.create_task(self._subscribe()), group.create_task(self._call())]
            outcome = await self._loop()
            await self._leave()
            for worker in workers:
                worker.cancel()
        return outcome

    async def _loop(self) -> Outcome:
        clock = asyncio.get_running_loop().time
        while self._outcome is None:
            event = await self._next_event()
            log.debug("event: %s", event)
            for action in self._state.handle(event, clock()):
                log.debug("action: %s", action)
                self._do(action)
            self._show_status(clock())
        return self._outcome

    def _show_status(self, now: float) -> None:
        if self._console.is_live and now >= self._next_status:
            self._next_status = now + STATUS_EVERY
            self._console.status(self._state.summary())

    async def _next_event(self) -> happened.Event:
        try:
            async with asyncio.timeout_at(self._state.deadline()):
                return await self._events.get()
        except TimeoutError:
            return happened.Ticked()

    async def _leave(self) -> None:
        """Hand over the calls that are still waiting, then have the framework removed."""
        within = 0.5 if self._hurried else 3.0
        try:
            async with asyncio.timeout(within):
                await self._calls.join()
        except TimeoutError:
            log.debug("calls that were not sent: %d", self._calls.qsize())
        await self._client.teardown(within)

    async def _subscribe(self) -> None:
        try:
            await self._client.run()
        except TFMesosError as error:
            self._events.put_nowait(happened.MasterGaveUp(error))

    def _emit(self, event: Json) -> None:
        log.debug("from Mesos: %s", event.get("type"))
        translated = translate(event)
        if translated is not None:
            self._events.put_nowait(translated)

    async def _call(self) -> None:
        """Make the calls one after another, apart from the loop: a slow master is no excuse."""
        while True:
            call = await self._calls.get()
            try:
                await call()
            finally:
                self._calls.task_done()

    async def _output(self, task_id: str, stream: str, lines: list[str], dropped: int) -> None:
        await self._console.output(self._names.get(task_id, task_id), stream, lines, dropped)

    # Doing

    def _do(self, action: Action) -> None:
        client = self._client
        match action:
            case do.Launch():
                self._launch(action)
            case do.Decline(offer_ids, refuse_seconds, reason):
                log.debug("declined %d offers: %s", len(offer_ids), reason)
                self._calls.put_nowait(lambda: client.decline(offer_ids, refuse_seconds))
            case do.Suppress():
                self._calls.put_nowait(client.suppress)
            case do.Revive():
                self._calls.put_nowait(client.revive)
            case do.Kill(task_id, agent_id):
                self._calls.put_nowait(lambda: client.kill(task_id, agent_id))
            case do.Reconcile(tasks):
                self._calls.put_nowait(lambda: client.reconcile(tasks))
            case do.Prepare(task_id, task):
                message = prepare_message(self.config, task)
                self._rendezvous.send(task_id, {**message, "forward": task in self.config.logs})
            case do.Start():
                self._start(action)
            case do.StopRunner(task_id, grace, reason):
                stop = {"type": "stop", "grace": grace, "reason": reason}
                self._rendezvous.send(task_id, stop)
            case do.AnnounceReady(cluster):
                self._on_ready(cluster)
            case do.Say(text, level):
                self._console.say(text, level)
            case do.Finish(outcome):
                self._outcome = outcome

    def _launch(self, launch: do.Launch) -> None:
        infos = []
        for task_id, seat in launch.seats:
            self._names[task_id] = seat.task.name
            self._rendezvous.expect(task_id)
            settings = runner_settings(self.config, self.id, self._launcher, task_id, seat)
            settings["scratch"] = self._scratch
            command = runner_command(self.config, settings, self._secret.hex())
            infos.append(task_info(self.config, task_id, launch.agent_id, seat, command))
        names = ", ".join(seat.task.name for _, seat in launch.seats)
        self._console.say(f"launching {names} on {launch.hostname}", "info")
        self._calls.put_nowait(lambda: self._client.accept(launch.offer_ids, infos, LONG_REFUSAL))

    def _start(self, start: do.Start) -> None:
        frames: dict[Any, bytes] = {}  # many tasks get the same message: encode it once
        for task_id, task in start.tasks:
            forward = task in self.config.logs
            copy_to = self.config.forward_addresses.get(task.mesos_name)
            key = (task.job.name, forward, copy_to)
            if key not in frames:
                message = start_message(self.config, task, start.cluster)
                frames[key] = wire.encode({**message, "forward": forward, "copy_to": copy_to})
            self._rendezvous.send(task_id, frames[key])


def runner_settings(
    config: LaunchConfig, run_id: str, launcher: str, task_id: str, seat: Seat
) -> Json:
    """What a runner has to know before it can ask for more."""
    return {
        "launcher": launcher,
        "run": run_id,
        "task": task_id,
        "job": seat.task.job.name,
        "index": seat.task.index,
        "port": seat.port,
        "grace": LOCAL_GRACE if config.is_local else RUNNER_GRACE,
        "connect_timeout": CONNECT_TIMEOUT,
    }


def runner_command(config: LaunchConfig, settings: Json, secret: str) -> Json:
    """The CommandInfo that starts a runner."""
    environment = {
        "TFMESOS_RUNNER": json.dumps(settings),
        "TFMESOS_SECRET": secret,
        payload.VARIABLE: payload.payload(),
    }
    return command_info(payload.bootstrap(config.python), environment)


def prepare_message(config: LaunchConfig, task: Task) -> Json:
    """In what surroundings a task runs."""
    env = dict(config.inherited_env)
    if not task.job.gpus:
        env["CUDA_VISIBLE_DEVICES"] = ""  # a ps must never grab a GPU that is not its own
    return {"type": "prepare", "env": env, "user_env": dict(config.env), "cwd": config.cwd}


def start_message(config: LaunchConfig, task: Task, cluster: ClusterSpec) -> Json:
    """What a runner is told when everybody is in."""
    job = task.job
    return {
        **prepare_message(config, task),
        "type": "start",
        "cluster": cluster,
        "command": job.cmd,
        "serve": {"protocol": config.protocol, "cpus": job.cpus, "gpus": job.gpus},
        "initializer": config.initializer,
        "finalizer": config.finalizer,
    }
