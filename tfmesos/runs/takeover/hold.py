"""Who holds a run: one process at a time, by a lock that the kernel releases when it dies."""

from __future__ import annotations

import asyncio
import fcntl
import os
import time
from collections.abc import Awaitable, Callable

from ...boot_clock import since_boot
from ...errors import TFMesosError
from ...record import Record
from ..run_files import RunDirectory

BEAT_EVERY = 5.0  # seconds between two signs of life
BEAT_SOON = 0.2  # seconds until the first, while the run is being set up
LATE = 10.0  # seconds by which a process that was not stopped is late at most
LONGEST_BEAT = 80  # bytes
DYING = 2.0  # seconds for the threads of a killed launcher, which keep its files open, to end
STALE = 30.0  # seconds without one after which the launcher of another machine counts as dead


class Held(TFMesosError):
    """Another process holds the run."""

    exit_code = 75  # EX_TEMPFAIL


class Hold:
    """Of a run, until ``release`` or the end of this process. Raises Held."""

    def __init__(self, run: RunDirectory) -> None:
        self._events = run.events_file
        self._file = os.open(run.lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        end = time.monotonic() + DYING
        while not self._is_locked():
            if run.launcher.is_alive is not False or time.monotonic() > end:
                os.close(self._file)
                raise Held(f"run {run.id} is held by {holder_of(run)}")
            time.sleep(0.02)

    def _is_locked(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def beat(self, at: float) -> None:
        """Give a sign of life: with the time *at* on the clock of the run, and what is recorded."""
        size = self._events.stat().st_size if self._events.exists() else 0
        text = f"{at!r} {time.time()!r} {size}\n"
        os.pwrite(self._file, text.ljust(LONGEST_BEAT).encode(), 0)

    async def keep_beating(
        self,
        now: Callable[[], float | None],
        on_wake: Callable[[], Awaitable[object]],
        clock: Callable[[], float] = since_boot,
    ) -> None:
        """Until cancelled. *on_wake*: this process was stopped, or its machine was suspended."""
        while True:
            if (at := now()) is not None:
                self.beat(at)
            due = clock() + (BEAT_SOON if at is None else BEAT_EVERY)
            await asyncio.sleep(due - clock())
            if clock() - due > LATE:
                await on_wake()

    def release(self) -> None:
        os.close(self._file)


def holder_of(run: RunDirectory) -> str:
    """In words."""
    return f"its launcher on {run.launcher.host or '?'} (pid {run.launcher.pid})"


class Beat(Record):
    at: float  # on the clock of the run
    wall: float  # in seconds since 1970
    recorded: int  # bytes of events


def last_beat(run: RunDirectory) -> Beat:
    """When its launcher gave its last sign of life, or wrote down an event.

    Other files are also written by a launcher that tries to take over, and fails.
    """
    try:
        at, wall, size = run.lock_file.read_text("ascii").split()
        beat = Beat(float(at), float(wall), int(size))
    except (OSError, ValueError):
        beat = Beat(0.0, run.began, 0)
    return beat.replace(wall=max(beat.wall, run.last_event))


def is_fresh(run: RunDirectory) -> bool:
    """Can its launcher, if it is on another machine, be alive?"""
    return time.time() - max(last_beat(run).wall, run.last_written) < STALE
