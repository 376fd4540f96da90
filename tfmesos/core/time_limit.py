"""How long a run may take, from its beginning to its end."""

from __future__ import annotations

from ..errors import RunTimeout
from .actions import Action
from .phases import Phase


class TimeLimit:
    def __init__(self, seconds: float | None, now: float, grace: float | None = None) -> None:
        """The tasks are stopped *grace* seconds before the limit, and have that time to end."""
        self._seconds = seconds
        self._began_at = now
        self.grace = grace

    def deadline_in(self, phase: Phase) -> float | None:
        """The time from which the run has taken too long."""
        if self._seconds is None or phase >= Phase.STOPPING:
            return None
        return self._began_at + self._seconds - (self.grace or 0.0)

    def spend(self, seconds: float) -> list[Action]:
        """Account for time in which no clock was running."""
        self._began_at -= seconds
        return []

    def error(self) -> RunTimeout:
        if self.grace:
            words = f"stopped {self.grace:g} s before its time limit of {self._seconds:g} s"
            return RunTimeout(words)
        return RunTimeout(f"still running after {self._seconds:g} s, its time limit")
