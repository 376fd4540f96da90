"""Runs kinit for a task on a node: before its command, and again and again while it runs."""

from __future__ import annotations

import os
import time

from ...shared import process
from ..process.spawn import spawn
from . import kerberos
from .kerberos import RETRY_AFTER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...shared.process import Ending
    from ..loop import Loop, Timer
    from ..process.guard import Guard
    from ..process.spawn import Spawned

LOOK_EVERY = 0.05  # seconds: kinit is not watched, for only one child can be


class Ticket:
    """The ticket of *principal*, whose keytab is in *directory*, until ``stop``."""

    def __init__(
        self,
        loop: Loop,
        guard: Guard,
        principal: str,
        directory: str,
        env: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._guard = guard
        self._say = say
        self._principal = principal
        self._directory = directory
        self._env = kerberos.environment(os.environ, env)
        self._process: Spawned | None = None
        self._written = -1  # the end of a pipe
        self._timer: Timer | None = None
        self._first: Ending | None = None  # how the first kinit ended

    def get(self, is_stopped: Callable[[], bool]) -> Ending | None:
        """Get a ticket; returns why there is none, if that fails."""
        self._ask()
        self._loop.run_until(lambda: self._first or is_stopped())
        return self._first if self._first and self._first[0] else None

    def stop(self) -> None:
        """Stop renewing it."""
        if self._timer is not None:
            self._timer.cancel()
        if self._process is not None:
            process.kill_session(self._process.pid)
            self._reap(self._process)

    def _ask(self) -> None:
        self._written, end = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        argv = kerberos.argv(self._directory, self._principal)
        try:
            self._process = spawn(argv, self._env, "/", (nothing, nothing, end), self._guard)
        except (OSError, ValueError) as error:
            os.close(self._written)
            self._ended(kerberos.could_not_start(self._principal, error))
        else:
            self._after(LOOK_EVERY, self._look)
        finally:
            os.close(nothing)
            os.close(end)

    def _after(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = self._loop.after(seconds, then)

    def _look(self) -> None:
        assert self._process is not None
        if not process.has_ended(self._process):
            return self._after(LOOK_EVERY, self._look)
        ending, written = self._reap(self._process)
        code, _ = ending
        self._ended(kerberos.failure(self._principal, ending, written) if code else ending)

    def _reap(self, kinit: Spawned) -> tuple[Ending, str]:
        """The end of kinit, and its output, which is shorter than a pipe holds."""
        self._guard.ended(kinit.pid)
        ending = process.ending(kinit.wait())
        os.set_blocking(self._written, False)
        try:
            written = os.read(self._written, 4096)
        except BlockingIOError:
            written = b""
        os.close(self._written)
        self._process = None
        return ending, written.decode("utf-8", "backslashreplace")

    def _ended(self, ending: Ending) -> None:
        pause = RETRY_AFTER
        if not ending[0]:
            ending, pause = kerberos.adopt(self._directory, self._principal, time.time())
        code, reason = ending
        is_first = self._first is None
        self._first = self._first or ending
        if not code:
            self._after(pause, self._ask)
        elif not is_first:
            self._say(f"{reason}; the next try is in {RETRY_AFTER:g} s")
            self._after(RETRY_AFTER, self._ask)
