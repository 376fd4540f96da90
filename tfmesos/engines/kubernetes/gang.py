"""All pods or none: when placed pods are given up in favour of other runs, and for how long.

The scheduler of Kubernetes places pod after pod, so two runs can each hold a part of what both
need, forever. So pods that are not all placed within the hold time after the first are deleted, all
of them, and made again after a pause. The pause is random and grows: otherwise two runs would come
back at the same moment and meet again. Pods of which none is placed, because a queue holds them
back or nothing is free, take nothing from anybody and stay.
"""

from __future__ import annotations

from collections.abc import Callable

HOLD = 60.0  # seconds
AWAY = (1.0, 5.0)  # seconds to leave the nodes to others, up to eight times as long later
LONGEST_DOUBLINGS = 3


class Gang:
    def __init__(self, jitter: Callable[[], float], hold: float = HOLD) -> None:
        self._jitter = jitter
        self._hold = hold
        self.release_at: float | None = None  # when the placed ones are given up
        self.return_at: float | None = None  # when they are made again
        self._in_vain = 0

    def begin(self, is_holding: bool) -> None:
        """Pods are created; *is_holding*: others are placed already and wait for them."""
        self.return_at = None
        if not is_holding:
            self.release_at = None

    def hold(self, now: float) -> None:
        """One of them is placed, and others are not."""
        if self.release_at is None:
            self.release_at = now + self._hold

    def hold_again(self, now: float) -> None:
        """Fewer pods are awaited, for as long as before."""
        self.release_at = now + self._hold

    def complete(self) -> None:
        """All are placed."""
        self.release_at = None
        self._in_vain = 0

    def give_up(self, now: float) -> float:
        """Leave the nodes to others; returns for how many seconds."""
        least, most = AWAY
        doublings = min(self._in_vain, LONGEST_DOUBLINGS)
        away = (least + (most - least) * self._jitter()) * (1 << doublings)
        self._in_vain += 1
        self.release_at = None
        self.return_at = now + away
        return away

    def stop(self) -> None:
        """Nobody waits for a place."""
        self.release_at = self.return_at = None
