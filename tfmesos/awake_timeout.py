"""A time limit that does not count the time in which this process was stopped.

After a Ctrl-Z every plain limit would have passed, although the answer may already be there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

HELD_UP = 0.5  # maximum delay in seconds of a process that was not stopped
AFTER_STOP = 5.0  # seconds more, then


@asynccontextmanager
async def awake_timeout(seconds: float) -> AsyncIterator[None]:
    """As ``asyncio.timeout``: TimeoutError after *seconds* for the block."""
    async with asyncio.timeout(None) as timeout:
        alarm = _Alarm(timeout, seconds)
        try:
            yield
        finally:
            alarm.cancel()


class _Alarm:
    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self._timeout = timeout
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._set(seconds)

    def cancel(self) -> None:
        self._timer.cancel()

    def _set(self, seconds: float) -> None:
        due = self._loop.time() + seconds
        self._timer = self._loop.call_at(due, self._ring, due)

    def _ring(self, due: float) -> None:
        now = self._loop.time()
        if now - due > HELD_UP:
            self._set(min(self._seconds, AFTER_STOP))
        else:
            self._timeout.reschedule(now)
