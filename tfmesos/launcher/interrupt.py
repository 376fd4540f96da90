"""Ctrl-C and other requests to end a run: orderly the first time, at once the second time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ..errors import Interrupted

T = TypeVar("T")

HURRY_EVERY = 0.2  # seconds between two looks
CLEAN_UP_WITHIN = 1.0  # seconds for work that is cut short
CTRL_C_TWICE = 2.0  # seconds within which a second Ctrl-C is meant for us, not for a local chief


class StopRequests:
    def __init__(self) -> None:
        self.is_hurried = False  # was there a second request?
        self._requested = asyncio.Event()
        self._cut = asyncio.Event()  # requested, without waiting for readers of the output
        self._why = ("", 0)
        self._ctrl_c_at = float("-inf")

    @property
    def is_requested(self) -> bool:
        return self._requested.is_set()

    @property
    def is_cut(self) -> bool:
        return self._cut.is_set()

    def add(self, reason: str, exit_code: int) -> None:
        """Without an *exit_code* the request is the owner's, who wants all of the output."""
        self.is_hurried = self._requested.is_set()
        self._why = reason, exit_code
        self._requested.set()
        if exit_code:
            self._cut.set()

    def is_second_ctrl_c(self, now: float) -> bool:
        """Did another Ctrl-C come shortly before this one?"""
        is_second = now - self._ctrl_c_at < CTRL_C_TWICE
        self._ctrl_c_at = now
        return is_second

    async def unless_requested(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*; Interrupted as soon as a stop is requested."""
        return await self._unless(self._requested, work)

    async def unless_cut(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, which waits for a reader; Interrupted once it need not wait."""
        return await self._unless(self._cut, work)

    async def unless_hurried(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work*, but no further once a second request has come."""
        task = asyncio.ensure_future(work)
        while not task.done() and not self.is_hurried:
            await asyncio.wait({task}, timeout=HURRY_EVERY)
        task.cancel()

    async def _unless(self, event: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
        answer, stop = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({answer, stop}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise Interrupted(*self._why)
        finally:
            answer.cancel()
            stop.cancel()
            await asyncio.wait({answer}, timeout=CLEAN_UP_WITHIN)  # it may have to kill a process
