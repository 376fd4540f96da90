"""Gets the caller of a failed run out of TensorFlow, or ends its program.

A TensorFlow session that waits for a dead server returns when somebody answers for that server;
anything else in the main thread is interrupted. If neither helps, the thread is stuck forever.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress

from ...core.outcome import Outcome
from ..screen.console import Console
from .main_thread import MainThread
from .stuck_session import StuckSession

# All in seconds:
ANSWERED_FOR = (
    30.0  # for which dead servers are answered for, so that the caller can leave TensorFlow
)
STUCK_AFTER = 20.0  # in a session whose server does not answer
LOOK_EVERY = 0.1  # at where the caller is


class Caller:
    """*has_left* says whether it no longer needs the cluster."""

    def __init__(self, has_left: Callable[[], bool]) -> None:
        self.main_thread = MainThread()
        self._has_left = has_left
        self._session = StuckSession(())
        self._is_free = False  # was the main thread not in a session when we looked?

    def may_use(self, targets: Collection[str]) -> None:
        """The caller may use the servers at *targets* from now on."""
        self._session = StuckSession(targets)

    async def come_out(self) -> None:
        """Get it out of TensorFlow while dead servers are answered for."""
        end = time.monotonic() + ANSWERED_FOR
        while not self._has_left() and time.monotonic() < end:
            if self._call_out():
                return
            await asyncio.sleep(LOOK_EVERY)

    def see_out(self, outcome: Outcome, console: Console) -> None:
        """Wait for the caller of a run that has failed; end a program that cannot come out."""
        while not self._has_left():
            if place := self._call_out():
                return _end_program(place, outcome, console)
            time.sleep(LOOK_EVERY)

    def _call_out(self) -> str:
        """Interrupt the main thread, unless it is in a session, which returns once it is answered.

        If nobody answers, returns where that session was called.
        """
        now = time.monotonic()
        place, seconds = self._session.look(now)
        was_free = self._is_free
        self._is_free = not place
        if was_free and self._is_free:  # or it may just be coming out of a session
            self.main_thread.interrupt(now)
        return place if seconds >= STUCK_AFTER else ""


def is_of_tensorflow(error: BaseException) -> bool:
    """Is it an error that a lost task may have caused?"""
    return type(error).__module__.startswith("tensorflow.")


def _end_program(place: str, outcome: Outcome, console: Console) -> None:
    problem = f"{outcome.error}; the session at {place} would wait for it forever"
    if hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        console.say(f"{problem}: restart this interpreter", "warning")
        return
    console.say(f"{problem}: the program ends with exit code {outcome.exit_code}", "warning")
    console.close()
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(outcome.exit_code)
