"""One run: the loop that joins Mesos, the runners and the screen with ``lifecycle``.

It decides nothing. Whatever happens becomes an event; what the state answers is carried out.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from . import actions as do
from . import census, masters, payload, sandbox, undelivered, wire
from . import events as happened
from .access import tls_context
from .actions import Action, ClusterSpec, Outcome
from .client import MesosClient
from .client_patience import Timing
from .console import Console
from .containers import choice, doubtful_gpus
from .errors import Interrupted, MasterError, SpecError, TFMesosError
from .farewell import Farewell
from .gang import LONG_REFUSAL
from .here import Here
from .launch import LaunchConfig
from .lifecycle import ClusterState, Phase
from .limits import allow_tasks
from .masters import Masters, UnknownHost
from .messages import (
    prepare_message,
    runner_command,
    runner_grace,
    runner_settings,
    silent_after,
    start_message,
    stub_settings,
)
from .rendezvous import Rendezvous
from .secret import Secret
from .shapes import NONSENSE
from .story import Story
from .task_info import framework_info, task_info
from .translate import translate
from .words import some

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

Json = dict[str, Any]
T = TypeVar("T")

MASTER_PATIENCE = 8.0  # seconds to find a master at first
CTRL_C_TWICE = 2.0  # seconds within which a second Ctrl-C is meant for us
RECONNECT_FOR = 100.0  # seconds for a lost master, or another one, to be there again
RETRY_EVERY = 0.5  # seconds between two attempts to find the way to a master
NOBODY_READS = 128 + 13  # as if by SIGPIPE
EX_IOERR = 74
FETCHES = 16  # sandboxes that are read at once, each up to 32 MiB
STARTS, BETWEEN_STARTS = 32, 0.05  # tasks that begin at once, seconds until the next ones do
STATUS_EVERY = 0.1  # seconds between two versions of the live line, at least


class Run:
    def __init__(
        self,
        config: LaunchConfig,
        console: Console,
        *,
        on_ready: Callable[[ClusterSpec], None] = lambda cluster: None,
        on_failure: Callable[[Outcome], Awaitable[None]] | None = None,
    ) -> None:
        """Servers that have ended answer for themselves until *on_failure* returns."""
        self.config, self._console, self._on_ready = config, console, on_ready
        self._on_failure = on_failure if config.has_servers else None
        self.id = f"tfmesos-{secrets.token_hex(4)}"
        self._names: dict[str, str] = {}  # task id -> name on the screen
        self._events: asyncio.Queue[happened.Event] = asyncio.Queue()
        self._calls: asyncio.Queue[Callable[[], Awaitable[bool]]] = asyncio.Queue()
        self._outcome: Outcome | None = None
        self._stopped, self._stopped_with = asyncio.Event(), ("", 0)
        self._cut = asyncio.Event()  # stopped, and nobody is waited for who reads the output
        self._hurried = False
        self._interrupted_at = float("-inf")
        self._began_at = 0.0
        self._next_status = 0.0
        self._story = Story(len(config.tasks))
        self._shown_phase: Phase | None = None
        self._here: Here | None = None  # the task in this terminal
        self._side_work: list[asyncio.Task[None]] = []
        self._group: asyncio.TaskGroup
        self._client: MesosClient
        self._rendezvous: Rendezvous
        self._state: ClusterState
        self._said = ""  # the last trouble on the way to a master
        self._launcher = ""  # where the runners find us
        self._farewell = Farewell()
        self._credential: tuple[str, Secret] | None = None
        self._tls: ssl.SSLContext | None = None
        self._scratch: str | None = None  # the embedded Mesos's directory

    @property
    def host(self) -> str:
        """Under which the tasks can reach this process."""
        return wire.split_address(self._launcher)[0]

    @property
    def awaited(self) -> str:
        """What the end of the run waits for just now, in words."""
        if not hasattr(self, "_state"):
            return "it is being set up"
        live = [member.task.name for member in self._state.members if member.is_live]
        running = f"still running: {some(live)}" if live else "all its tasks have ended"
        return self._state.summary() or running

    def request_stop(self, reason: str, exit_code: int) -> None:
        """End the run: in good order the first time, at once the second time."""
        self._hurried = self._stopped.is_set()
        self._stopped_with = reason, exit_code
        self._stopped.set()
        if exit_code:  # else its owner ends it, and wants all of its output
            self._cut.set()
            self._console.hurry()
        self._events.put_nowait(happened.StopRequested(reason, exit_code))

    @property
    def is_stopped(self) -> bool:
        """Was it told to end before it had?"""
        return self._cut.is_set()

    def output_failed(self, error: Exception) -> None:
        """Nobody reads our output any more, or it cannot be written. An end is an end already."""
        if not self._stopped.is_set():
            self.request_stop(*unwritten(error))

    def interrupt(self) -> None:
        """Ctrl-C. A task in this terminal got it, too, and may go on; pressed twice it is ours."""
        now = asyncio.get_running_loop().time()
        is_repeated, self._interrupted_at = now - self._interrupted_at < CTRL_C_TWICE, now
        if is_repeated or self._here is None or not self._here.is_running:
            self.request_stop("interrupted", Interrupted.exit_code)

    async def go(self) -> Outcome:
        """Live the whole run, and return how it ended. Nothing is left of it then.

        Raises SpecError if something was wrong before anything had started.
        """
        self._began_at = asyncio.get_running_loop().time()
        async with AsyncExitStack() as stack:
            try:
                await self._open(stack)
            except SpecError:
                raise  # the caller's mistake, like those that are found before
            except TFMesosError as error:
                return Outcome(error=error)
            self._state = self._new_state(self._began_at)
            outcome = await self._live()
        self._console.status("")
        return outcome

    def _new_state(self, now: float) -> ClusterState:
        here = self._here
        return ClusterState(
            self.config.tasks,
            self.id,
            now,
            start_timeout=self.config.start_timeout,
            restarts=self.config.restarts,
            hang_timeout=self.config.hang_timeout,
            nodes_alike=self.config.is_local or self.config.image is not None,
            jitter=secrets.SystemRandom().random,
            here=None if here is None else (here.task, here.task_id, here.address),
        )

    # Setting up

    async def _open(self, stack: AsyncExitStack) -> None:
        self._tls = tls_context(self.config.access)
        leaders = await self._find_master(stack)
        if said := choice(self.config, self._console.named):
            self._console.say(said)
        if not self.config.is_local:  # where the sandboxes go with us
            self._console.kept = "; the sandbox has them all"
        self._make_room()
        emit, grace = self._events.put_nowait, runner_grace(self.config)
        self._rendezvous = await stack.enter_async_context(
            Rendezvous(
                self.id,
                emit,
                self._output,
                grace=grace,
                silent_after=silent_after(self.config),
                dismisses=self._on_failure is None,
                runner=payload.runner(),
            )
        )
        self._launcher = await self._listen(leaders)
        if self.config.local_chief:
            self._here = Here(self.config.chief, self.id, self.host, self._console.say)
            stack.callback(self._here.close)
        self._client = MesosClient(
            leaders,
            framework_info(self.config, self.id, socket.gethostname()),
            self._emit,
            credential=self._credential,
            token=self.config.access.token,
            ssl_context=self._tls,
            on_state=lambda line: self._events.put_nowait(happened.MasterSought(line)),
            timing=self._patience(),
        )

    def _make_room(self) -> None:
        wanted = len(self.config.tasks)
        if (possible := allow_tasks(wanted)) < wanted:
            text = f"open files are limited: enough for about {possible} of {wanted} tasks"
            self._console.say(f"{text}; raise it with ulimit -n", "warning")

    def _patience(self) -> Timing:
        """Look for a first master a little less long than for everything together."""
        timeout = self.config.start_timeout
        passed = asyncio.get_running_loop().time() - self._began_at
        give_up_after = MASTER_PATIENCE if timeout is None else max(0.9 * timeout - passed, 0.0)
        return Timing(
            give_up_after=give_up_after,
            await_names=timeout is not None,
            reconnect_for=RECONNECT_FOR,
        )

    async def _find_master(self, stack: AsyncExitStack) -> Masters:
        if not self.config.is_local:
            access = self.config.access
            if access.principal and access.secret:
                self._credential = (access.principal, access.secret)
            return masters.parse(self.config.master, tls=access.speaks_tls)
        from .embedded import embedded_mesos, provide_image  # not cheap, and often not needed

        if self.config.image is not None:
            await self._unless_stopped(provide_image(self.config, self._console.say))
        mesos, self._credential = embedded_mesos(
            self.config, self.id, lambda text: self._console.say(text, "info")
        )
        await stack.enter_async_context(mesos)
        stack.callback(lambda: mesos.hurry() if self._hurried else None)
        self._scratch = str(mesos.directory)
        return masters.parse(mesos.url)

    async def _listen(self, leaders: Masters) -> str:
        if self.config.advertise is not None:
            return await self._listen_for_all(*self.config.advertise)
        host = "127.0.0.1"
        if not self.config.is_local:
            host = await self._unless_stopped(self._address_towards(leaders))
        return wire.join_address(*await self._rendezvous.listen(host, 0))

    async def _listen_for_all(self, host: str, port: int) -> str:
        """Listen at every address of ours: *host* may be that of a gate before this machine."""
        try:
            _, port = await self._rendezvous.listen("::" if ":" in host else "0.0.0.0", port)
        except OSError as error:
            problem = f"{wire.join_address(host, port)}: cannot listen there: {error.strerror}"
            raise SpecError(None, "advertise", problem) from error
        return wire.join_address(host, port)

    async def _address_towards(self, leaders: Masters) -> str:
        """Our address as a master sees it; names may take a while to be found."""
        clock = asyncio.get_running_loop().time
        patience = self._patience()
        end = clock() + patience.give_up_after
        while True:
            began = clock()
            try:
                return await _first_address(await leaders.candidates())
            except MasterError as error:
                took = clock() - began
                is_hopeless = isinstance(error, UnknownHost) and not patience.await_names
                if is_hopeless or clock() + RETRY_EVERY + took > end:  # the next comes too late
                    raise
                self._say_once(f"no Mesos master yet: {error}")
            await asyncio.sleep(RETRY_EVERY)

    def _say_once(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self._console.say(text)

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        """Names and ZooKeepers may take long to answer; a stop need not wait for them."""
        return await self._unless(self._stopped, work)

    async def unless_cut(self, work: Coroutine[Any, Any, T]) -> T:
        """Readers may take long; an interrupt need not wait for them."""
        return await self._unless(self._cut, work)

    async def _unless(self, event: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
        answer, stop = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({answer, stop}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Interrupted(*self._stopped_with)
        finally:
            answer.cancel()
            stop.cancel()

    # Living

    async def _live(self) -> Outcome:
        async with asyncio.TaskGroup() as self._group:
            workers = [self._spawn(self._subscribe()), self._spawn(self._call())]
            outcome = await self._with_sandbox(await self._loop())
            if self._on_failure is not None and outcome.error is not None:
                await self._on_failure(outcome)
                for task_id in self._names:
                    self._rendezvous.dismiss(task_id)
            await self._leave()
            outcome = await self._with_all_output(outcome)
            for worker in [*workers, *self._side_work]:
                worker.cancel()
        return outcome

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._group.create_task(work)

    async def _loop(self) -> Outcome:
        clock = asyncio.get_running_loop().time
        while self._outcome is None:
            event = await self._next_event()
            log.debug("event: %s", event)
            todo = self._state.handle(event, clock())
            for line in self._story.tell(event, todo):
                self._console.say(line, "info")
            for action in todo:
                log.debug("action: %s", action)
                self._do(action)
            if isinstance(event, happened.TaskExited) and not self._state.is_failing:
                self._rendezvous.dismiss(event.task_id)
            self._show_status(clock())
        return self._outcome

    def _show_status(self, now: float) -> None:
        is_new_phase = self._state.phase is not self._shown_phase
        if self._console.is_live and (is_new_phase or now >= self._next_status):
            self._next_status, self._shown_phase = now + STATUS_EVERY, self._state.phase
            self._console.status(self._state.summary())

    async def _next_event(self) -> happened.Event:
        try:
            async with asyncio.timeout_at(self._state.deadline()):
                return await self._events.get()
        except TimeoutError:
            return happened.Ticked(self._rendezvous.is_busy)

    async def _with_sandbox(self, outcome: Outcome) -> Outcome:
        """The outcome with the place of the culprit's sandbox, and its end if we had none."""
        cause, framework_id = outcome.cause, self._client.framework_id
        if cause is None or not cause.agent_url or framework_id is None:
            return outcome
        agents = sandbox.addresses(cause.agent_url, cause.hostname, self._client.master)
        task = (framework_id, cause.task_id)
        # A secret for the master is not for its agents; of ours they are one.
        credential = self._credential if self.config.is_local else None
        tail = cause.tail
        if not cause.is_reported:
            tail = await sandbox.tail(agents, *task, credential, self._tls)
        shown = "" if self.config.is_local else sandbox.place(agents[0], *task)  # ours ends with us
        return outcome.but(cause=cause.but(tail=tail, sandbox=shown))

    async def _with_all_output(self, outcome: Outcome) -> Outcome:
        """Show what tasks have written that ended, or say that it is missing."""
        try:
            await self.unless_cut(self._bring_output())
        except Interrupted as stop:
            return outcome if outcome.error else outcome.but(error=stop)
        return outcome

    async def _bring_output(self) -> None:
        await self._rendezvous.drain()
        shown = {task.name for task in self.config.tasks if task in self.config.logs}
        at_once = asyncio.Semaphore(FETCHES)
        async with asyncio.TaskGroup() as group:
            for task_id, received in self._rendezvous.unreported():
                if self._names[task_id] in shown:
                    group.create_task(self._fetch_or_say(task_id, received, at_once))

    async def _fetch_or_say(self, task_id: str, received: int, turn: asyncio.Semaphore) -> None:
        async with turn:
            if not await self._fetch(task_id, received):
                what = f"the last output of {self._names[task_id]} may be missing"
                self._console.say(f"{what}: its runner could not report", "warning")

    async def _fetch(self, task_id: str, received: int) -> bool:
        """Show what the runner left in its sandbox; is it all that was missing?"""
        member, framework_id = self._state.members.latest(task_id), self._client.framework_id
        if member is None or framework_id is None or self.config.is_local:
            return False
        agents = sandbox.addresses(member.agent_url, member.hostname, self._client.master)
        file = (framework_id, task_id, undelivered.FILE)
        text = await sandbox.whole_file(agents, *file, self._tls)
        messages, is_all = undelivered.unpack(text, received)
        for message in messages:
            if message["type"] == "output":
                what = (message["stream"], message["text"], message["dropped"])
                await self._output(task_id, *what)
        return is_all

    async def _leave(self) -> None:
        """Hand over the calls that are still waiting, then have the framework removed.

        What an embedded Mesos has on its books goes with it, and need not be waited for.
        """
        within = 0.5 if self._hurried else 3.0
        try:
            async with asyncio.timeout(within):
                await self._calls.join()
                if not self.config.is_local and self._client.is_subscribed:
                    await self._farewell.all_told()
                    await self._client.settled()
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
        try:
            translated = translate(event, time.time())
        except NONSENSE as error:
            text = f"the master sent an event that makes no sense: {event.get('type')}: {error!r}"
            translated = happened.MasterGaveUp(MasterError(text))
        if translated is not None:
            self._farewell.heard(translated)
            self._events.put_nowait(translated)

    async def _call(self) -> None:
        """Make the calls one after another, apart from the loop: a slow master is no excuse."""
        while True:
            call = await self._calls.get()
            try:
                await call()
            finally:
                self._calls.task_done()

    async def _output(self, task_id: str, stream: str, text: str, dropped: int) -> None:
        await self._console.output(self._names.get(task_id, task_id), stream, text, dropped)

    # Doing

    def _do(self, action: Action) -> None:
        client = self._client
        match action:
            case do.Launch():
                self._launch(action)
            case do.Decline(offer_ids, refuse_seconds, reason):
                log.debug("declined %d offers: %s", len(offer_ids), reason)
                self._calls.put_nowait(lambda: client.decline(offer_ids, refuse_seconds))
            case do.DeclineInverse(offer_ids, refuse_seconds):
                self._calls.put_nowait(lambda: client.decline_inverse(offer_ids, refuse_seconds))
            case do.Suppress():
                self._calls.put_nowait(client.suppress)
            case do.Revive():
                self._calls.put_nowait(client.revive)
            case do.CountAgents():
                self._side_work.append(self._spawn(self._count_agents()))
            case do.Kill(task_id, agent_id):
                self._calls.put_nowait(lambda: client.kill(task_id, agent_id))
            case do.Reconcile(tasks):
                self._calls.put_nowait(lambda: client.reconcile(tasks))
            case do.Prepare(task_id, task):
                message = prepare_message(self.config, task)
                self._rendezvous.send(task_id, {**message, "forward": task in self.config.logs})
            case do.Start():
                self._start(action.but(tasks=action.tasks[:STARTS]))
                self._side_work.append(self._spawn(self._start_rest(action)))
            case do.StopRunner(task_id, grace) if self._here and task_id == self._here.task_id:
                self._side_work.append(self._spawn(self._here.stop(grace)))
            case do.StopRunner(task_id, grace, reason, examine):
                stop = {"type": "stop", "grace": grace, "reason": reason, "examine": examine}
                self._rendezvous.send(task_id, stop)
            case do.AnnounceReady(cluster):
                self._on_ready(cluster)
            case do.Say(text, level):
                self._console.say(text, level)
            case do.Finish(outcome):
                self._outcome = outcome

    async def _count_agents(self) -> None:
        known, others = await self._client.agents(), await self._client.frameworks()
        own_id, wall = self._client.framework_id, time.time()
        try:
            agents = None if known is None else census.parse(known, self.config.role)
            holders = () if others is None else census.holders(others, own_id, wall)
        except NONSENSE as error:
            log.debug("the master tells of its agents what makes no sense: %r", error)
            agents, holders = None, ()
        self._events.put_nowait(happened.AgentsCounted(agents, holders))

    def _launch(self, launch: do.Launch) -> None:
        infos = []
        # Where a task can see this process: a container has pids and files of its own.
        is_near = self._scratch is not None and self.config.image is None
        here = (os.getpid(), {"scratch": self._scratch}) if is_near else (None, {})
        for task_id, seat in launch.seats:
            self._names[task_id] = seat.task.name
            settings = runner_settings(self.config, seat) | here[1]
            secret = Secret(self._rendezvous.expect(task_id, settings=settings).hex())
            told = stub_settings(self.id, self._launcher, task_id, here[0])
            command = runner_command(self.config, told, secret)
            infos.append(task_info(self.config, task_id, launch.agent_id, seat, command))
        seats = [seat for _, seat in launch.seats]
        if warning := doubtful_gpus(self.config, seats, self._console.named):
            self._console.say(f"{launch.hostname}: {warning}", "warning")
        names = ", ".join(seat.task.name for _, seat in launch.seats)
        self._console.say(f"launching {names} on {launch.hostname}", "info")
        self._farewell.launched(task_id for task_id, _ in launch.seats)
        self._calls.put_nowait(lambda: self._client.accept(launch.offer_ids, infos, LONG_REFUSAL))

    async def _start_rest(self, start: do.Start) -> None:
        """A thousand that begin at the same moment would leave us no time on their machine."""
        for at in range(STARTS, len(start.tasks), STARTS):
            await asyncio.sleep(BETWEEN_STARTS if self.config.is_local else 0)
            if self._state.phase is not Phase.RUNNING:
                return
            self._start(start.but(tasks=start.tasks[at : at + STARTS]))

    def _start(self, start: do.Start) -> None:
        frames: dict[Any, bytes] = {}  # many tasks get the same message: encode it once
        for task_id, task in start.tasks:
            if self._here is not None and task_id == self._here.task_id:
                message = start_message(self.config, task, start.cluster)
                self._side_work.append(self._spawn(self._run_here(self._here, message)))
                continue
            forward = task in self.config.logs
            copy_to = self.config.forward_addresses.get(task.mesos_name)
            key = (task.job.name, forward, copy_to)
            if key not in frames:
                message = start_message(self.config, task, start.cluster)
                frames[key] = wire.encode({**message, "forward": forward, "copy_to": copy_to})
            self._rendezvous.send(task_id, frames[key])

    async def _run_here(self, here: Here, message: Json) -> None:
        self._events.put_nowait(happened.TaskReady(here.task_id))
        code, reason = await here.run(message)
        ended = happened.TaskExited(here.task_id, code, reason, was_stopped=here.is_stopping)
        self._events.put_nowait(ended)


def unwritten(error: Exception) -> tuple[str, int]:
    """What is to be said of output that could not be written, and the exit code for it."""
    if isinstance(error, BrokenPipeError):
        return "nobody reads the output any more", NOBODY_READS
    return f"the output cannot be written: {error}", EX_IOERR


async def _first_address(candidates: Sequence[str]) -> str:
    problems = []
    for candidate in candidates:
        try:
            return await asyncio.to_thread(masters.local_address_towards, candidate)
        except MasterError as error:
            problems.append(error)
    kind = UnknownHost if all(isinstance(it, UnknownHost) for it in problems) else MasterError
    raise kind("; ".join(map(str, problems)))
