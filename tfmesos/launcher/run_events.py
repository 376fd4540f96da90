"""The events of a run, in the order in which they came, and its clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any


class Clock:
    """A monotonic clock like that of asyncio. After a take-over it continues where it stood."""

    def __init__(self) -> None:
        self._ahead = 0.0  # of the clock of this process, in seconds

    def __call__(self) -> float:
        return asyncio.get_running_loop().time() + self._ahead

    def go_on_from(self, last: float) -> None:
        self._ahead = last - asyncio.get_running_loop().time()

    def of_loop(self, moment: float | None) -> float | None:
        """*moment* on the clock of this process."""
        return None if moment is None else moment - self._ahead


class RunEvents:
    """*record* gets each event as it comes, *secure* is called before anybody acts on them.

    Events before ``open`` are recorded by it.
    """

    def __init__(
        self,
        record: Callable[[Any, float], object],
        secure: Callable[[], object],
        now: Clock,
    ) -> None:
        self._record = record
        self._secure = secure
        self._now = now
        self._early: list[Any] = []
        self.is_open = False
        self._queue: asyncio.Queue[tuple[Any, float]] = asyncio.Queue()

    def open(self, tell: Callable[[], object] = lambda: None) -> None:
        """Accept events from now on, and *tell* the observer."""
        self.is_open = True
        for event in self._early:
            self.put(event)
        self._early.clear()
        tell()

    def put(self, event: Any) -> None:
        if not self.is_open:
            self._early.append(event)
            return
        now = self._now()
        self._record(event, now)
        self._queue.put_nowait((event, now))

    def wake(self) -> None:
        """Wake up whoever waits, to look again."""
        self._queue.put_nowait((None, 0.0))

    async def get(self) -> tuple[Any, float]:
        """The next event, and when it came."""
        found = await self._queue.get()
        self._secure()
        return found
