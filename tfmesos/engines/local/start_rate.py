"""Starts tasks no faster than this machine can handle.

A thousand processes that start at the same time compete with the launcher and with each other, so
that none of them makes progress, and whoever waits for one gives up. A genuine Mesos spreads them
over many machines; here each waits briefly until the machine has time for it.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from collections.abc import Callable

AT_ONCE = 16  # tasks that never wait
EACH = 4  # processes that may want to run at the same time, for each processor
LOAD = "/proc/loadavg"
LOOK_AGAIN = 0.01  # seconds
LOOKS = 10  # before a task is started nevertheless: others may keep the machine busy forever


class StartRate:
    """Calls *start* with each id it is given, in order; within its event loop only."""

    def __init__(
        self, start: Callable[[str], None], runnable: Callable[[], int] | None = None
    ) -> None:
        self._start = start
        self._runnable = runnable or count_runnable
        self._before = 0  # what wanted to run when our first one was started
        self._loop = asyncio.get_running_loop()
        self._queue: deque[str] = deque()
        self._started = 0  # since the queue was empty
        self._looks = 0  # for the one whose turn it is
        self._turn: asyncio.Handle | None = None

    def add(self, container_id: str) -> None:
        self._queue.append(container_id)
        if self._turn is None:
            self._turn = self._loop.call_soon(self._next)

    def close(self) -> None:
        self._queue.clear()

    def _next(self) -> None:
        self._turn = None
        if not self._queue:
            self._started = 0
            return
        if not self._started:
            self._before = self._runnable()
        if self._started >= AT_ONCE and self._looks < LOOKS and self._is_crowded():
            self._looks += 1
            self._turn = self._loop.call_later(LOOK_AGAIN, self._next)
            return
        self._looks = 0
        self._started += 1
        self._turn = self._loop.call_soon(self._next)
        self._start(self._queue.popleft())

    def _is_crowded(self) -> bool:
        """Are many more processes runnable than before, which is our doing?"""
        return self._runnable() - self._before > EACH * len(os.sched_getaffinity(0)) + EACH


def count_runnable() -> int:
    """How many processes of this machine are runnable. Only Linux reports this."""
    try:
        with open(LOAD, "rb", buffering=0) as file:
            return int(file.read().split()[3].partition(b"/")[0])
    except (OSError, IndexError, ValueError):
        return 0
