"""One run: the loop that connects its deciders with the engine, the runners and the screen.

It decides nothing. Whatever happens becomes an event; what the deciders answer is carried out.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import daemon_threads
from ..config.launch_config import LaunchConfig
from ..core import actions as do
from ..core import events as happened
from ..core.actions import ClusterSpec
from ..core.lifecycle import Lifecycle
from ..core.outcome import Outcome
from ..core.phases import Phase
from ..engines.api import Context, Decider, Driver, Setup
from ..engines.plugins import plugin_of
from ..errors import Interrupted, SpecError, TFMesosError
from ..shared.address import split_address
from .deciders import Beginning, Deciders
from .inside import Inside
from .interrupt import StopRequests
from .keys import Keys
from .links.collected_files import Brought
from .links.listener import Listener
from .links.messages import limits_of, prepare_message, stop_message
from .missing_output import MissingOutput, completed, explained
from .observer import Observer
from .open_files import limit_warning
from .owner_requests import NOT_YET, OwnerRequests
from .past import CannotTakeOver, GivenAway, Past, Succession
from .recall import SOONER, Recall
from .run_events import Clock, RunEvents
from .runners import Runners
from .screen.console import Console
from .screen.standard_streams import unwritten
from .screen.story import Story
from .shipment import Shipment
from .starts import Starts
from .view import View, progress_every

if TYPE_CHECKING:
    from .local_chief import LocalChief

log = logging.getLogger(__name__)

LEAVE_WITHIN, HURRY_WITHIN = 3.0, 0.5  # seconds for the engine to let us go


class Run:
    def __init__(
        self,
        config: LaunchConfig,
        console: Console,
        run_id: str,
        *,
        on_ready: Callable[[ClusterSpec], None] = lambda cluster: None,
        on_failure: Callable[[Outcome], Awaitable[None]] | None = None,
        observer: Observer | None = None,
        bring_to: Path | None = None,
        succession: Succession | None = None,
    ) -> None:
        """Servers that have ended are answered for until *on_failure* returns.

        *bring_to* is where collected files go. The *succession* is what other launchers of the run
        have left, or will get.
        """
        self._keys, self._past = succession or Succession(Keys(), None)
        self._now = Clock()
        self._given_away: GivenAway | None = None
        self.on_open: Callable[[], object] = lambda: None  # nothing can be refused any more
        self.on_rolled: Callable[[str], object] = lambda problem: None  # a rolling update is over
        self.on_update: Callable[[bool], object] = lambda is_rolling: None  # one is taken
        self._observer = observer or Observer()
        every = progress_every(config, console, self._observer)
        self.config = config.replace(progress_every=every)
        self._console = console
        self._on_ready = on_ready
        self._on_failure = on_failure if config.has_servers else None
        self.id = f"tfmesos-{run_id}"
        self._view = View(config, console, self._observer)
        self._events = RunEvents(self._observer.happened, self._observer.secure, self._now)
        self._outcome: Outcome | None = None
        self.stop_requests = StopRequests()
        self.owner_requests = OwnerRequests(self.config, self._events.put)
        self._shipment = Shipment(config, console)
        self._brought = Brought(bring_to, config.bring_limit, lambda id: self._runners.names[id])
        self._chief: LocalChief | None = None  # the task in this terminal
        self._side_work: list[asyncio.Task[None]] = []
        self._group: asyncio.TaskGroup
        self._story: Story
        self._driver: Driver
        self._runners: Runners
        self._listener: Listener
        self._starts: Starts
        self._lifecycle: Lifecycle | None = None
        self._deciders: Deciders
        self._launcher = ""  # where the runners find us
        self._has_left = False

    @property
    def host(self) -> str:
        """The host name or address at which tasks reach this process."""
        return split_address(self._launcher)[0]

    @property
    def now(self) -> float | None:
        """The time on the clock of the run, once it has begun."""
        return self._now() if self._events.is_open else None

    @property
    def awaited(self) -> str:
        """What the end of the run is waiting for, in words."""
        if self._lifecycle is None:
            return NOT_YET
        return self._lifecycle.summary() or self._lifecycle.members.still_running()

    def request_stop(self, reason: str, exit_code: int, grace: float | None = None) -> None:
        """End the run: orderly the first time, at once the second time."""
        if self._lifecycle is not None and self._lifecycle.phase is Phase.STAYING:
            exit_code = 0  # how it ended is known
        self.stop_requests.add(reason, exit_code)
        if self.stop_requests.is_cut:
            self._console.hurry()
        self._events.put(happened.StopRequested(reason, exit_code, grace))

    def shorten_stop(self, grace: float) -> None:
        self._events.put(happened.StopRequested(SOONER, 0, grace))

    def give_away(self, why: str, exit_code: int = GivenAway.exit_code) -> None:
        """End this launcher, and leave the tasks to the next one."""
        self._given_away = GivenAway(why, exit_code)
        self._events.wake()

    @property
    def has_left(self) -> bool:
        """Has everything of it been removed from the engine?"""
        return self._has_left

    @property
    def is_stopped(self) -> bool:
        """Was it asked to end before it had?"""
        return self.stop_requests.is_cut

    def output_failed(self, error: Exception) -> None:
        """Stop because our output cannot be written any more. Does nothing if the run is ending."""
        if not self.stop_requests.is_requested:
            self.request_stop(*unwritten(error))

    def interrupt(self) -> None:
        """Ctrl-C.

        A task in this terminal got it, too, and may continue; pressed twice, it is for us.
        """
        is_second = self.stop_requests.is_second_ctrl_c(asyncio.get_running_loop().time())
        if is_second or self._chief is None or not self._chief.is_running:
            self.request_stop("interrupted", Interrupted.exit_code)

    async def go(self) -> Outcome:
        """Run everything, and return how the run ended.

        Nothing is left of it then.

        Raises SpecError if something is wrong before anything has started.
        """
        daemon_threads.use()
        began_at = asyncio.get_running_loop().time()
        async with AsyncExitStack() as stack:
            try:
                await self._open(stack, began_at)
            except TFMesosError as error:
                if self._past is not None:  # its tasks may still find another launcher
                    return Outcome(error=CannotTakeOver.because(error))
                if isinstance(error, SpecError):
                    raise  # the caller's mistake, like those that are found before
                return Outcome(error=error)
            outcome = await self._live()
        self._console.status("")
        return self._brought.settle(outcome, self._console.say)

    # Setting up

    async def _open(self, stack: AsyncExitStack, began_at: float) -> None:
        stops = self.stop_requests
        await self._shipment.open(stack, stops.unless_requested, again=self._past is not None)
        console = self._console
        setup = plugin_of(self.config.engine.name).new_setup(
            Context(
                self.config,
                self.id,
                console.say,
                console.named,
                stops.unless_requested,
                self._keys,
                self.give_away,
            )
        )
        for text in self.config.warnings:
            console.say(text, "warning")
        await setup.open(stack, began_at, lambda: stops.is_hurried)
        if setup.remark:
            console.say(setup.remark)
        console.kept = setup.kept
        if said := limit_warning(self.config.size):
            console.say(said, "warning")
        self._listener = await stack.enter_async_context(self._new_listener())
        self._launcher = await setup.listen(self._listener)
        if self.config.local_chief:
            from .local_chief import LocalChief  # most runs have none

            self._chief = LocalChief(self.config, self.id, self.host, self._console.say)
            stack.callback(self._chief.close)
        seed = int.from_bytes(os.urandom(8), "big")
        fresh = Beginning.of(self.config, self.id, began_at, self._chief, seed)
        beginning = self._past.beginning if self._past else fresh
        if self._past is None:
            self._observer.begun(beginning)
        lifecycle = self._lifecycle = beginning.lifecycle()
        inside = Inside(self.config, lambda: lifecycle.members, self._listener, console)
        engine = beginning.engine()
        self._deciders = Deciders(lifecycle, engine, self._observer.told)
        self._open_engine(setup, engine)
        self.owner_requests.begin(lifecycle, inside, self._driver.look)
        self._starts = Starts(
            self.config,
            self._listener,
            self._chief,
            self._events.put,
            self._beside,
            is_running=lambda: lifecycle.phase is Phase.RUNNING,
        )
        if self._past is not None:
            self._recall(self._past, lifecycle)
        self._events.open(self.on_open)

    def _new_listener(self) -> Listener:
        listener = Listener(
            self.id,
            self._view.sinks(self._events.put, self._brought, self.give_away),
            self._shipment.supplies(),
            limits_of(self.config, self._observer.confirms),
            dismisses=self._on_failure is None,
            holder=self._keys.holder,
        )
        self._observer.confirm_to(listener.recorded)
        return listener

    def _open_engine(self, setup: Setup, engine: Decider) -> None:
        self._runners = Runners(
            self.config,
            self.id,
            setup,
            self._listener,
            self._launcher,
            self._shipment,
            self._keys,
        )
        self._driver = setup.driver(engine, self._events.put, self._runners.expect)
        self._view.names = self._runners.names
        self._story = Story(self.config.size, setup.story)

    # Taking over

    def _recall(self, past: Past, lifecycle: Lifecycle) -> None:
        """Take the place of the previous launcher; then wait for its runners."""
        self._now.go_on_from(past.last)
        recalled = Recall(
            lifecycle,
            self._driver,
            self._listener,
            self._starts,
            self._story,
            self.stop_requests,
            self._do,
        )
        for event, now in past.decide_again(self._deciders, recalled.step):
            self._observer.told(event, now)
        recalled.check(past.received)
        self._deciders.overhear = self._observer.told
        self._events.open()
        self._events.put(happened.TakenOver(past.away))
        self._listener.resume(past.received)
        self._runners.go_on(self._events.put, is_starting=lifecycle.phase is Phase.STARTING)

    # Living

    async def _live(self) -> Outcome:
        assert self._lifecycle is not None
        async with self._driving(), asyncio.TaskGroup() as self._group:
            self._beside(self._view.draw_on(self._lifecycle, lambda: self._shipment.status))
            outcome = await self._loop()
            self.owner_requests.end()
            if self._given_away is None:
                outcome = await self._finish(outcome)
            for work in self._side_work:
                work.cancel()
        return outcome

    async def _finish(self, outcome: Outcome) -> Outcome:
        if self._observer.confirms:
            await self.stop_requests.unless_hurried(self._listener.hear_out())
        outcome = await explained(outcome, self._driver, self._listener.last_lines)
        if self._on_failure is not None and outcome.error is not None:
            await self._on_failure(outcome)
            for task_id in self._runners.names:
                self._listener.dismiss(task_id)
        await self._leave()
        if self._given_away is not None:  # the engine knows a later launcher
            return Outcome(error=self._given_away)
        names = self._runners.names
        wanted = names.values() if self.config.keeps_output else self._view.shown
        missing = MissingOutput(self._listener, self._driver, self._console.say, names)
        fetching = missing.fetch(wanted, self._view.output)
        return await completed(outcome, self.stop_requests, fetching)

    @asynccontextmanager
    async def _driving(self) -> AsyncIterator[None]:
        """However the block ends, the engine is left, while its driver still runs if possible.

        If the run was given away, everything stays there as it is.
        """
        async with asyncio.TaskGroup() as group:
            driver = group.create_task(self._driver.run())
            try:
                yield
            finally:
                await self._leave()
                driver.cancel()

    async def _leave(self) -> None:
        if not self._has_left and self._given_away is None:
            within = HURRY_WITHIN if self.stop_requests.is_hurried else LEAVE_WITHIN
            await self._driver.leave(within)
            self._has_left = True

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work* until the run ends."""
        self._side_work.append(self._group.create_task(work))

    async def _loop(self) -> Outcome:
        assert self._lifecycle is not None
        while self._outcome is None:
            event, now = await self._next_event()
            if self._given_away is not None:
                return Outcome(error=self._given_away)
            log.debug("event: %s", event)
            if isinstance(event, happened.UpdateRequested) and self.owner_requests.decide(event):
                self.on_update(event.is_rolling)
            todo = self._deciders.handle(event, now)
            for line in self._story.tell(event, todo):
                self._console.say(line, "info")
            for action in todo:
                log.debug("action: %s", action)
                self._do(action)
            if isinstance(event, happened.TaskExited | happened.RunnerLost):
                self._brought.gone(event.task_id)
            if isinstance(event, happened.TaskExited) and not self._lifecycle.is_failing:
                self._listener.dismiss(event.task_id)
            self._view.changed()
        return self._outcome

    async def _next_event(self) -> tuple[Any, float]:
        try:
            async with asyncio.timeout_at(self._now.of_loop(self._deciders.deadline)):
                return await self._events.get()
        except TimeoutError:
            self._events.put(happened.Ticked(self._listener.is_busy, self._brought.is_busy))
            return await self._events.get()

    # Doing

    def _do(self, action: Any) -> None:
        match action:
            case do.Prepare(task_id, task):
                self._listener.send(task_id, prepare_message(self.config, task))
            case do.Start():
                self._starts.begin(action)
            case do.StopRunner(task_id, grace) if self._chief and task_id == self._chief.task_id:
                self._beside(self._chief.stop(grace, self._events.put))
            case do.StopRunner(task_id):
                if action.examine:
                    self._view.shown.add(self._runners.names[task_id])  # to read what it says
                self._listener.send(task_id, stop_message(action))
            case do.ContinueRunner(task_id):
                self._listener.send(task_id, {"type": "continue"})
            case do.Refuse(task_id):
                self._listener.refuse(task_id)
            case do.BeginGeneration(number, jobs, why):
                self._console.say(f"generation {number}: {why}", "info")
                self._change(self.config.in_generation(number, jobs))
            case do.EndRolling(jobs, problem):
                self._change(self.config.in_generation(self.config.generation, jobs))
                self.on_rolled(problem)
            case do.Mark():
                pass  # for the record
            case do.AnnounceReady(cluster):
                self._on_ready(cluster)
            case do.Say(text, level):
                self._console.say(text, level)
            case do.Finish(outcome):
                self._outcome = outcome
            case _:
                self._driver.carry_out(action)

    def _change(self, config: LaunchConfig) -> None:
        """What is launched from now on is launched so."""
        self.config = config
        for part in (
            self._driver,
            self._runners,
            self._starts,
            self._view,
            self._story,
            self.owner_requests,
        ):
            part.change(config)
