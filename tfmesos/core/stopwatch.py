"""Measures how a run spends its time."""

from __future__ import annotations


class Stopwatch:
    def __init__(self, now: float) -> None:
        self._last = now
        self._laps: list[tuple[str, float]] = []

    def lap(self, what: str, now: float) -> None:
        """All since the last lap went into *what*."""
        before = 0.0
        if self._laps and self._laps[-1][0] == what:
            before = self._laps.pop()[1]
        self._laps.append((what, before + now - self._last))
        self._last = now

    @property
    def laps(self) -> tuple[tuple[str, float], ...]:
        return tuple(self._laps)
