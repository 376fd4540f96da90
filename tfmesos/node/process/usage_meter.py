"""How much CPU, memory and GPU the processes of a task use, as reported by Linux and nvidia-smi."""

from __future__ import annotations

import os
import time

from ...shared import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...shared.wire import Message
    from ..loop import Loop
    from .gpus import Gpu, Gpus
    from .guard import Guard

LOOKS = 128  # processes whose environment is read at a time, at most: it takes the longest


class TaskProcesses:
    """Processes in the session of the command, and those with the mark of the task.

    This is determined once for each process, whatever session it creates later.
    """

    def __init__(self, session: int, task: str) -> None:
        self._session = session
        self._mark = f"\0{process.MARK}={task}\0".encode()
        self._ours: set[int] = set()
        self._others = {os.getpid()}

    def pids(self) -> set[int]:
        present = set(process.pids())
        self._ours &= present
        self._others &= present
        looks = LOOKS
        # The task's own began after most others. Those that are not looked at wait for next time.
        for pid in sorted(present - self._ours - self._others, reverse=True):
            if process.session(pid) == self._session:
                self._ours.add(pid)
            elif looks:
                looks -= 1
                is_ours = self._mark in process.environment(pid)
                (self._ours if is_ours else self._others).add(pid)
        return self._ours


def stat_of(pid: int) -> tuple[int, int]:
    """The ticks of CPU that it and its children that ended have used, and its pages in memory."""
    fields = process.stat(pid)
    return (sum(map(int, fields[11:15])), int(fields[21])) if len(fields) > 21 else (0, 0)


class Usage:
    """Measures what is running; between ``began`` and ``ended`` there is something."""

    def __init__(self, loop: Loop, task: str) -> None:
        self._loop = loop
        self._task = task
        self._processes: TaskProcesses | None = None
        self._start_gpus: Callable[[], Gpus | None] = lambda: None
        self._gpus: Gpus | None = None
        # at the last measurement
        self._ticks = 0
        self._at = 0.0

    def began(self, session: int, env: Mapping[str, str], guard: Guard) -> None:
        self._processes = TaskProcesses(session, self._task)
        # A server has worked already when it is ready.
        self._ticks = stat_of(session)[0]
        self._at = time.monotonic()
        visible = env.get("CUDA_VISIBLE_DEVICES")
        self._start_gpus = lambda: _gpus(self._loop, visible, guard)

    def ended(self) -> None:
        self._processes = None
        self._start_gpus = lambda: None
        if self._gpus is not None:
            self._gpus.close()
            self._gpus = None

    def measure(self) -> Message:
        """``cpu`` in percent of a core, ``memory`` in bytes, ``gpus`` as in Gpus; or nothing."""
        found = [stat_of(pid) for pid in self._processes.pids()] if self._processes else []
        if not found:  # it has not begun, it has just ended, or this is not Linux
            return {}
        ticks, now = sum(used for used, _ in found), time.monotonic()
        passed = max(now - self._at, 0.001) * os.sysconf("SC_CLK_TCK")
        # A daemon that ended takes its ticks along.
        cpu = min(max(ticks - self._ticks, 0) / passed, os.cpu_count() or 1)
        self._ticks = ticks
        self._at = now
        memory = sum(pages for _, pages in found) * os.sysconf("SC_PAGE_SIZE")
        return {"cpu": round(100 * cpu, 1), "memory": memory, "gpus": self._of_gpus()}

    def _of_gpus(self) -> list[Gpu]:
        """Starts with the first measurement, so that the start of a task does not wait for it."""
        start = self._start_gpus
        self._start_gpus = lambda: None
        self._gpus = start() or self._gpus
        return self._gpus.take() if self._gpus else []


def _gpus(loop: Loop, visible: str | None, guard: Guard) -> Gpus | None:
    if visible == "":  # as for all tasks that were given none
        return None
    from .gpus import Gpus  # most tasks have none

    return Gpus(loop, visible, guard)
