"""Runs tasks as processes of this machine, each in a session and a sandbox of its own.

The sandbox of a task is laid out as on a genuine agent, with ``stdout`` and ``stderr`` in it:
WORK_DIR/slaves/AGENT_ID/frameworks/FRAMEWORK_ID/executors/TASK_ID/runs/CONTAINER_ID
(``runs/latest`` is a link to the newest). It stays until the work directory is removed. In one of
our own it is sandboxes/CONTAINER_ID: ext4 takes long to make what was removed by thousands before.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tfmesos.engines.local.start_rate import StartRate
from tfmesos.shared import process

from .entities import Task
from .processes import Refusal, exit_message, launch_failed, start_process
from .workdir import WorkDir

if TYPE_CHECKING:
    from .docker import Engine

_LOOK_AGAIN = 0.002  # seconds between two looks at what a killed session has left
_RESTS, _LONGEST_REST = 4, 0.25  # times as long as such a look took, and seconds
_FEW = 16  # tasks, whose ends are looked at without a rest
_ENGINE_TIMEOUT = 10.0  # seconds for an engine to finish what it was asked for
_KILL_TIMEOUT = 2.0  # seconds; what survives SIGKILL that long hangs in the kernel


class Report(Protocol):
    """Where the news of containers goes."""

    def started(self, container_id: str, pid: int) -> None: ...
    def refused(self, container_id: str, state: str, reason: str, message: str) -> None: ...
    def ended(
        self, container_id: str, succeeded: bool, message: str, reason: str | None = None
    ) -> None: ...


@dataclass(eq=False, repr=False, match_args=False)
class _Container:
    """A running task."""

    process: subprocess.Popen[bytes]
    task: Task
    unwatch: Callable[[], None]
    started_at: float
    killer: asyncio.TimerHandle | None = None
    given_up_at: float = 0.0
    ended: bool = False

    @property
    def is_in_engine(self) -> bool:
        return self.task.image is not None

    @property
    def pid(self) -> int:
        return self.process.pid


class Containers:
    """The running tasks of every embedded agent. Must be used within its event loop only."""

    def __init__(
        self,
        work_dir: WorkDir,
        report: Report,
        *,
        switch_user: bool = False,
    ) -> None:
        self._work_dir = work_dir
        self._switch_user = switch_user
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._start_rate = StartRate(self._start)
        self._waiting: dict[str, Task] = {}
        self._running: dict[str, _Container] = {}
        self._terminating: list[str] = []
        self._ended: list[str] = []
        self._look_took = 0.0  # seconds, the last time, to see what ended tasks have left
        self._engine: Engine | None = None  # until the first task with an image
        self._preparing: dict[str, asyncio.Task[None]] = {}  # of such tasks
        self._clearing: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._idle.set()

    def sandbox(self, task: Task) -> Path:
        if self._work_dir.is_temporary and not self._switch_user:
            return self._work_dir.path / "sandboxes" / task.container_id
        agent = self._work_dir.path / "slaves" / task.agent.id
        framework = agent / "frameworks" / task.framework.id
        return framework / "executors" / task.id / "runs" / task.container_id

    def launch(self, task: Task) -> None:
        """Start *task* when it is its turn: a thousand of them block neither us nor the machine."""
        self._waiting[task.container_id] = task
        self._start_rate.add(task.container_id)

    def kill(self, container_id: str, grace: float) -> None:
        preparing = self._preparing.pop(container_id, None)
        if preparing is not None:
            preparing.cancel()
        if self._waiting.pop(container_id, None) or preparing is not None:
            message = "Killed before delivery to the executor"
            reason = "REASON_TASK_KILLED_DURING_LAUNCH"
            self._report.refused(container_id, "TASK_KILLED", reason, message)
        elif container := self._running.get(container_id):
            self._soon(self._terminating, container_id, self._terminate)
            container.killer = self._loop.call_later(grace, self._kill_now, container_id)

    def kill_agent(self, agent_id: str) -> None:
        """End everything the agent runs, as if its machine had lost power."""
        self._waiting = {i: t for i, t in self._waiting.items() if t.agent.id != agent_id}
        for preparing in self._preparing.values():
            if preparing.get_name() == agent_id:
                preparing.cancel()
        self._kill_all([c for c in self._running.values() if c.task.agent.id == agent_id])

    async def close(self, grace: float) -> None:
        """Leave no process: SIGTERM, and SIGKILL after *grace* seconds."""
        self._start_rate.close()
        self._waiting.clear()
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
        deadline = self._loop.time() + _KILL_TIMEOUT
        while self._kill_all(self._running.values()) and self._loop.time() < deadline:
            time.sleep(_LOOK_AGAIN)
        for container_id, container in list(self._running.items()):
            self._notice_end(container_id)
            self._finish(container_id, container)
        self._ended.clear()
        for clearing in self._clearing:
            clearing.cancel()  # the engine is asked once more, for all of them

    def _soon(
        self, batch: list[str], item: str, work: Callable[[], None], delay: float = 0.0
    ) -> None:
        """Let *work* see *item* together with all others of this turn of the loop, or more."""
        if not batch:
            self._loop.call_later(delay, work)
        batch.append(item)

    def _terminate(self) -> None:
        ending = [self._running[i] for i in self._terminating if i in self._running]
        self._terminating.clear()
        self._signal_all(ending, signal.SIGTERM)

    def _signal_all(self, containers: list[_Container], number: int) -> None:
        """Of what runs in the engine only the engine can tell the processes."""
        process.signal_sessions([c.pid for c in containers if not c.is_in_engine], number)
        others = [c.task for c in containers if c.is_in_engine and not c.ended]
        if self._engine is not None and others:
            self._engine.signal(others, number)

    def _kill_all(self, containers: Collection[_Container]) -> set[int]:
        """Kill what there is of them, and return the pids of those that had anything.

        What a task starts in sessions of its own is found by its sandbox in the environment.
        """
        if not containers:
            return set()
        found = process.signal_sessions([c.pid for c in containers], signal.SIGKILL)
        sandboxes = {str(self.sandbox(c.task)): c.pid for c in containers if not c.is_in_engine}
        marked = process.signal_marked("MESOS_SANDBOX", sandboxes, signal.SIGKILL)
        return found | {sandboxes[sandbox] for sandbox in marked}

    def _kill_now(self, container_id: str) -> None:
        if container := self._running.get(container_id):
            self._kill_all([container])

    def _start(self, container_id: str) -> None:
        task = self._waiting.pop(container_id, None)
        if task is None:
            return
        with suppress(OSError):  # which the sandbox will meet again
            self._work_dir.make()
        if task.image is not None:
            preparing = self._loop.create_task(self._prepare(task), name=task.agent.id)
            self._preparing[container_id] = preparing
            return
        try:
            self._follow(task, start_process(task, self.sandbox(task), self._switch_user))
        except Refusal as refusal:
            self._report.refused(container_id, *refusal.args)

    def _follow(self, task: Task, started: subprocess.Popen[bytes]) -> None:
        unwatch = self._watch(started, task.container_id)
        self._running[task.container_id] = _Container(started, task, unwatch, time.time())
        self._idle.clear()
        self._report.started(task.container_id, started.pid)

    async def _prepare(self, task: Task) -> None:
        """Have the image and the container of *task*, and start it."""
        try:
            engine = self._engine_for_us()
            await engine.provide(task)
            await engine.create(task, self.sandbox(task))
            started = engine.start(task, self.sandbox(task))
        except (Refusal, OSError) as error:
            refusal = (
                error if isinstance(error, Refusal) else launch_failed(process.in_words(error))
            )
            del self._preparing[task.container_id]
            self._report.refused(task.container_id, *refusal.args)
        else:
            del self._preparing[task.container_id]
            self._follow(task, started)

    def _engine_for_us(self) -> Engine:
        from .docker import Engine, NoEngine  # most runs have no images

        if self._engine is None:
            try:
                scratch = str(self._work_dir.path) if self._work_dir.is_temporary else ""
                self._engine = Engine(scratch)
            except NoEngine as reason:
                raise launch_failed(f"this machine runs no images: {reason}") from reason
        return self._engine

    def _watch(self, started: subprocess.Popen[bytes], container_id: str) -> Callable[[], None]:
        """Call _notice_end when the process ends. No child watcher: those want the main thread."""
        try:
            descriptor = os.pidfd_open(started.pid)
        except (AttributeError, OSError):  # not Linux, or an old one
            return self._watch_by_thread(started, container_id)
        self._loop.add_reader(descriptor, self._notice_end, container_id)

        def unwatch() -> None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

        return unwatch

    def _watch_by_thread(
        self, started: subprocess.Popen[bytes], container_id: str
    ) -> Callable[[], None]:
        def wait() -> None:
            started.wait()
            try:
                self._loop.call_soon_threadsafe(self._notice_end, container_id)
            except RuntimeError:
                pass  # the loop is closed: nobody is interested any more

        threading.Thread(target=wait, daemon=True).start()
        return lambda: None

    def _notice_end(self, container_id: str) -> None:
        container = self._running.get(container_id)
        if container and not container.ended:
            container.ended = True
            container.unwatch()
            container.given_up_at = self._loop.time() + _KILL_TIMEOUT
            # It looks at every process of the machine: not all the time, when thousands end.
            self._soon(self._ended, container_id, self._reap, self._rest)

    @property
    def _rest(self) -> float:
        if len(self._running) <= _FEW:
            return _LOOK_AGAIN
        return min(_RESTS * self._look_took, _LONGEST_REST)

    def _reap(self) -> None:
        """Clear away what tasks left behind, and tell that they have ended."""
        ended, self._ended = self._ended, []
        began = self._loop.time()
        # Until it is reaped the leader's pid, which names the session, is not used again.
        crowded = self._kill_all([self._running[i] for i in ended])
        self._look_took = self._loop.time() - began
        for container_id in ended:
            container = self._running[container_id]
            if container.pid in crowded and self._loop.time() < container.given_up_at:
                self._ended.append(container_id)
            elif container.is_in_engine and _reaped(container.process) != 0:
                clearing = self._loop.create_task(self._clear(container_id, container))
                self._clearing.add(clearing)
                clearing.add_done_callback(self._clearing.discard)
            else:
                self._finish(container_id, container)
        if self._ended:
            self._loop.call_later(max(_LOOK_AGAIN, self._rest), self._reap)

    async def _clear(self, container_id: str, container: _Container) -> None:
        """Ask the engine why a container ended badly, and have it removed for sure."""
        task, engine, starved = container.task, self._engine_for_us(), False
        with suppress(OSError):  # it has ended, whatever keeps us from asking
            if container.process.returncode == 128 + signal.SIGKILL:
                starved = await engine.ran_out_of_memory(task, container.started_at)
            await engine.remove(task)
        self._finish(container_id, container, starved=starved)

    def _finish(self, container_id: str, container: _Container, *, starved: bool = False) -> None:
        del self._running[container_id]
        if container.killer:
            container.killer.cancel()
        returncode = _reaped(container.process)
        if starved:
            limit = container.task.resources.scalar("mem")
            message = f"Memory limit exceeded: Requested: {limit:g}MB"
            self._report.ended(container_id, False, message, "REASON_CONTAINER_LIMITATION_MEMORY")
        else:
            message = _message(container, returncode)
            self._report.ended(container_id, returncode == 0, message)
        if not self._running:
            self._idle.set()


def _message(container: _Container, returncode: int) -> str:
    if not container.is_in_engine:
        return exit_message(returncode)
    code = 128 - returncode if returncode < 0 else returncode
    if container.task.is_docker:
        return f"Container exited with status {code}"
    return exit_message(128 - code if code - 128 in signal.valid_signals() else code)


def _reaped(killed: subprocess.Popen[bytes]) -> int:
    try:
        return killed.wait(timeout=_KILL_TIMEOUT)
    except subprocess.TimeoutExpired:  # it hangs in the kernel and dies when that lets go of it
        return -signal.SIGKILL
