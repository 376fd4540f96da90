"""Starts, signals and cleans up the tasks that run on this machine."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...shared import process
from ...shared.exit_status import KILLED, memory_limit, out_of_memory
from ..api import Emit
from .events import TaskGone, TaskStarted
from .processes import ended_by_itself, start_process, watch
from .scratch_directory import ScratchDirectory, make_sandbox
from .start_rate import StartRate
from .task_launch import SANDBOX, Launch, NotStarted
from .warm_parent import Forked, WarmParent

if TYPE_CHECKING:
    from .docker import Engine

UNKNOWN = "ended with an unknown exit code: the parent of the runners was killed"
_LOOK_AGAIN = 0.002  # seconds between two looks at what a killed session has left
_RESTS, _LONGEST_REST = 4, 0.25  # times as long as such a look takes, and seconds
_FEW = 16  # tasks, whose ends are looked at without a rest
_ENGINE_TIMEOUT = 10.0  # seconds for Docker to finish what it was asked for
_KILL_TIMEOUT = 2.0  # seconds; what survives SIGKILL for this long hangs in the kernel


@dataclass(eq=False, repr=False, match_args=False)
class _Running:
    process: subprocess.Popen[bytes] | Forked
    launch: Launch
    unwatch: Callable[[], None]
    started_at: float
    killer: asyncio.TimerHandle | None = None
    given_up_at: float = 0.0
    has_ended: bool = False
    was_killed: bool = False

    @property
    def is_container(self) -> bool:
        return self.launch.image is not None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def left_nothing(self) -> bool:
        """Is it certain that nothing of it is left, now that it has ended?"""
        return isinstance(self.process, Forked) and ended_by_itself(self.pid)


class LocalTasks:
    """Reports their starts and ends to ``emit``. Must be used within its event loop only."""

    def __init__(self, scratch: ScratchDirectory, new_engine: Callable[[], Engine]) -> None:
        self._scratch = scratch
        self._new_engine = new_engine
        self.emit: Emit = lambda event: None
        self._loop = asyncio.get_running_loop()
        self._start_rate = StartRate(self._start)
        self._waiting: dict[str, Launch] = {}
        self._running: dict[str, _Running] = {}
        self._terminating: list[str] = []
        self._ended: list[str] = []
        self._look_took = 0.0  # seconds, the last time, to see what ended tasks have left
        self._parent: WarmParent | None = None
        self._doomed: set[str] = set()  # tasks to be killed as soon as they are forked
        self._engine: Engine | None = None  # until the first task with an image
        self._preparing: dict[str, asyncio.Task[None]] = {}  # of such tasks
        self._clearing: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def warm_up(self) -> None:
        """Start a parent for runners that use our own Python."""
        try:
            self._parent = parent = WarmParent()
        except OSError:
            return  # their stubs may succeed
        parent.forked = self._follow_fork
        parent.lost = self._start_process
        parent.failed = self._not_forked

    def launch(self, launch: Launch) -> None:
        """Start it when its turn comes: a thousand of them block neither us nor the machine."""
        self._waiting[launch.task_id] = launch
        self._start_rate.add(launch.task_id)

    def kill(self, task_id: str, grace: float) -> None:
        preparing = self._preparing.pop(task_id, None)
        if preparing is not None:
            preparing.cancel()
        if self._waiting.pop(task_id, None) or preparing is not None:
            self.emit(TaskGone(task_id, 1, "was killed before it had started", was_killed=True))
        elif self._parent is not None and self._parent.is_asked_for(task_id):
            self._doomed.add(task_id)
        elif running := self._running.get(task_id):
            running.was_killed = True
            self._soon(self._terminating, task_id, self._terminate)
            running.killer = self._loop.call_later(grace, self._kill_now, task_id)

    async def close(self, grace: float) -> None:
        """Leave nothing: SIGTERM, and SIGKILL after *grace* seconds."""
        self._start_rate.close()
        self._waiting.clear()
        self._doomed.clear()
        for preparing in self._preparing.values():
            preparing.cancel()
        self._signal_all(list(self._running.values()), signal.SIGTERM)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._idle.wait()
            await self._finish_engine_work()
        finally:
            self._kill_everything()
            if self._engine is not None:
                self._engine.close()

    async def _finish_engine_work(self) -> None:
        if self._engine is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENGINE_TIMEOUT):
                await asyncio.gather(*self._preparing.values(), return_exceptions=True)
                await self._engine.finish_work()

    def _kill_everything(self) -> None:
        """Synchronous, so that no cancellation can come between."""
        if self._parent is not None:
            self._parent.stop()
        deadline = self._loop.time() + _KILL_TIMEOUT
        while self._kill_all(self._running.values()) and self._loop.time() < deadline:
            time.sleep(_LOOK_AGAIN)
        for task_id, running in list(self._running.items()):
            self._notice_end(task_id)
            self._finish(task_id, running)
        self._ended.clear()
        for clearing in self._clearing:
            clearing.cancel()  # Docker is asked once more, for all of them

    def _soon(
        self, batch: list[str], item: str, work: Callable[[], None], delay: float = 0.0
    ) -> None:
        """Hand *item* to *work*, together with at least all others of this turn of the loop."""
        if not batch:
            self._loop.call_later(delay, work)
        batch.append(item)

    # Signals

    def _terminate(self) -> None:
        ending = [self._running[i] for i in self._terminating if i in self._running]
        self._terminating.clear()
        self._signal_all(ending, signal.SIGTERM)

    def _signal_all(self, tasks: list[_Running], number: int) -> None:
        """Only Docker knows the processes of a container."""
        process.signal_sessions([it.pid for it in tasks if not it.is_container], number)
        others = [it.launch for it in tasks if it.is_container and not it.has_ended]
        if self._engine is not None and others:
            self._engine.signal(others, number)

    def _kill_all(self, tasks: Collection[_Running]) -> set[int]:
        """Kill what is left of them, and return the pids of those that had something left.

        What a task starts in sessions of its own is found by its sandbox in the environment.
        """
        if not tasks:
            return set()
        found = process.signal_sessions([it.pid for it in tasks], signal.SIGKILL)
        sandboxes = {str(it.launch.sandbox): it.pid for it in tasks if not it.is_container}
        marked = process.signal_marked(SANDBOX, sandboxes, signal.SIGKILL)
        return found | {sandboxes[sandbox] for sandbox in marked}

    def _kill_now(self, task_id: str) -> None:
        if running := self._running.get(task_id):
            self._kill_all([running])

    # Starts

    def _start(self, task_id: str) -> None:
        launch = self._waiting.pop(task_id, None)
        if launch is None:
            return
        with suppress(OSError):  # which will come up again with the sandbox
            self._scratch.make()
        if launch.image is not None:
            self._preparing[task_id] = self._loop.create_task(self._prepare(launch))
            return
        if launch.is_ours and self._parent is not None and self._fork(self._parent, launch):
            return
        self._start_process(launch)

    def _fork(self, parent: WarmParent, launch: Launch) -> bool:
        """Was the fork requested? If not, its stub is started, and reports the problem."""
        try:
            make_sandbox(launch.sandbox)
        except OSError:
            return False
        return parent.fork(launch)

    def _follow_fork(self, launch: Launch, runner: Forked) -> None:
        self._follow(launch, runner)
        if launch.task_id in self._doomed:
            self._doomed.discard(launch.task_id)
            self.kill(launch.task_id, 0.0)

    def _not_forked(self, launch: Launch, number: int) -> None:
        self._not_started(launch.task_id, process.in_words(OSError(number, os.strerror(number))))

    def _start_process(self, launch: Launch) -> None:
        try:
            self._follow(launch, start_process(launch))
        except NotStarted as reason:
            self._not_started(launch.task_id, reason)

    def _not_started(self, task_id: str, reason: object) -> None:
        self.emit(TaskGone(task_id, 1, f"could not be started: {reason}"))

    def _follow(self, launch: Launch, started: subprocess.Popen[bytes] | Forked) -> None:
        task_id = launch.task_id
        unwatch = watch(started.pid, started.wait, lambda: self._notice_end(task_id))
        self._running[task_id] = _Running(started, launch, unwatch, time.time())
        self._idle.clear()
        self.emit(TaskStarted(task_id))

    async def _prepare(self, launch: Launch) -> None:
        """Make the container of a task, and start it."""
        try:
            engine = self._engine_for_us()
            await engine.create(launch)
            started = engine.start(launch)
        except (NotStarted, OSError) as error:
            del self._preparing[launch.task_id]
            reason = error if isinstance(error, NotStarted) else process.in_words(error)
            self._not_started(launch.task_id, reason)
        else:
            del self._preparing[launch.task_id]
            self._follow(launch, started)

    def _engine_for_us(self) -> Engine:
        if self._engine is None:
            self._engine = self._new_engine()
        return self._engine

    # Ends

    def _notice_end(self, task_id: str) -> None:
        running = self._running.get(task_id)
        if running and not running.has_ended:
            running.has_ended = True
            running.unwatch()
            running.given_up_at = self._loop.time() + _KILL_TIMEOUT
            # It looks at every process of the machine: not all the time, when thousands end.
            self._soon(self._ended, task_id, self._reap, self._rest)

    @property
    def _rest(self) -> float:
        if len(self._running) <= _FEW:
            return _LOOK_AGAIN
        return min(_RESTS * self._look_took, _LONGEST_REST)

    def _reap(self) -> None:
        """Clean up after tasks, and report that they have ended."""
        ended = self._ended
        self._ended = []
        began = self._loop.time()
        # Until it is reaped the leader's pid, which names the session, is not used again.
        suspects = [one for one in map(self._running.__getitem__, ended) if not one.left_nothing]
        crowded = self._kill_all(suspects)
        self._look_took = self._loop.time() - began
        for task_id in ended:
            running = self._running[task_id]
            if running.pid in crowded and self._loop.time() < running.given_up_at:
                self._ended.append(task_id)
            elif running.is_container and _reaped(running.process) != 0:
                self._later(self._clear(task_id, running))
            elif isinstance(running.process, Forked):
                self._later(self._reap_fork(task_id, running.process, running))
            else:
                self._finish(task_id, running)
        if self._ended:
            self._loop.call_later(max(_LOOK_AGAIN, self._rest), self._reap)

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        clearing = self._loop.create_task(work)
        self._clearing.add(clearing)
        clearing.add_done_callback(self._clearing.discard)

    async def _reap_fork(self, task_id: str, runner: Forked, running: _Running) -> None:
        await runner.reap(_KILL_TIMEOUT)
        if task_id in self._running:
            self._finish(task_id, running)

    async def _clear(self, task_id: str, running: _Running) -> None:
        """Ask Docker why a container failed, and make sure that it is removed."""
        engine, starved = self._engine_for_us(), False
        with suppress(OSError):  # it has ended, even if we cannot ask
            if running.process.returncode == KILLED:
                starved = await engine.ran_out_of_memory(running.launch, running.started_at)
            await engine.remove(running.launch)
        self._finish(task_id, running, starved=starved)

    def _finish(self, task_id: str, running: _Running, *, starved: bool = False) -> None:
        del self._running[task_id]
        if running.killer:
            running.killer.cancel()
        returncode = _reaped(running.process)
        if running.is_container and returncode - 128 in signal.valid_signals():
            returncode = 128 - returncode
        code, reason = process.ending(returncode)
        is_lost = isinstance(running.process, Forked) and running.process.returncode is None
        if is_lost:
            code, reason = 1, UNKNOWN
        if starved:
            reason = out_of_memory(memory_limit(running.launch.task.job.mem))
        elif running.was_killed:
            code, reason = code or 1, "was killed"
        self.emit(TaskGone(task_id, code, reason, running.was_killed, is_lost))
        if not self._running:
            self._idle.set()


def _reaped(ended: subprocess.Popen[bytes] | Forked) -> int:
    try:
        return ended.wait(timeout=_KILL_TIMEOUT)
    except subprocess.TimeoutExpired:  # it hangs in the kernel and dies when that lets go of it
        return -signal.SIGKILL
