"""Measures how fast the launcher takes output."""

from __future__ import annotations

PACE_WINDOW = 0.5  # seconds over which the pace is measured
FAST_PACE = 256 * 1024  # bytes a second


class Pace:
    """Does the launcher take output fast enough to wait for it?

    Otherwise a slow terminal at its other end would slow down the training.
    """

    def __init__(self) -> None:
        self._asked = 0.0
        self._taken = 0
        self._is_fast = True

    def is_fast(self, taken: int, now: float) -> bool:
        """*taken* bytes of all output have arrived by *now*.

        Called while there is too much output.
        """
        passed = now - self._asked
        if passed >= PACE_WINDOW:
            is_new = passed >= 4 * PACE_WINDOW  # it was not asked for long: it kept up
            self._is_fast = is_new or taken - self._taken >= FAST_PACE * passed
            self._asked = now
            self._taken = taken
        return self._is_fast
