"""Deadlines, each with what to do when it has passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Output = TypeVar("Output")


class Clocks(Generic[Output]):
    """Pairs of a deadline (None: never) and what to do then."""

    def __init__(
        self, *pairs: tuple[Callable[[], float | None], Callable[[float], Sequence[Output]]]
    ) -> None:
        self._pairs = pairs

    @property
    def deadline(self) -> float | None:
        times = [time for deadline, _ in self._pairs if (time := deadline()) is not None]
        return min(times, default=None)

    def tick(self, now: float) -> list[Output]:
        """Do what is due, in the order of the pairs; one may put off the next."""
        todo: list[Output] = []
        for deadline, tick in self._pairs:
            if (time := deadline()) is not None and now >= time:
                todo += tick(now)
        return todo
