"""A queue of calls to an engine, made one after another outside the deciding loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

Call = Callable[[], Awaitable[object]]


class CallQueue:
    """A slow engine must not make the loop wait."""

    def __init__(self) -> None:
        self._waiting: asyncio.Queue[Call] = asyncio.Queue()

    def __len__(self) -> int:
        return self._waiting.qsize()

    def add(self, call: Call) -> None:
        self._waiting.put_nowait(call)

    async def run(self) -> None:
        """Make the calls as they come, until cancelled."""
        while True:
            call = await self._waiting.get()
            try:
                await call()
            finally:
                self._waiting.task_done()

    async def all_made(self) -> None:
        await self._waiting.join()

    def drop(self) -> None:
        """Drop the remaining calls; nobody waits for them any more."""
        while not self._waiting.empty():
            self._waiting.get_nowait()
            self._waiting.task_done()
