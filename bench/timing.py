"""Contestants measured in turns, so that a noisy machine is noisy to all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


class Contest:
    def __init__(self, name: str, repetitions: int) -> None:
        self.name, self._repetitions = name, repetitions
        self.seconds: dict[str, list[float]] = {}

    def measure(self, contestants: Mapping[str, Callable[[], object]]) -> None:
        for _ in range(self._repetitions):
            for name, contestant in contestants.items():
                start = time.perf_counter()
                contestant()
                self.seconds.setdefault(name, []).append(time.perf_counter() - start)

    def table(self) -> str:
        """Medians, spread, and the ratio to the first contestant."""
        medians = {name: statistics.median(times) for name, times in self.seconds.items()}
        floor = next(iter(medians.values()))
        rows = [
            f"{name:24} {medians[name]:8.3f} s {min(times):8.3f} - {max(times):.3f}"
            f" {medians[name] / floor:8.2f} x"
            for name, times in self.seconds.items()
        ]
        head = f"{self.name} ({self._repetitions} repetitions, interleaved)"
        return "\n".join([head, f"{'':24} {'median':>10} {'min - max':>14} {'ratio':>12}", *rows])
