"""Contestants measured in turns, so that a noisy machine is noisy to all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log

Measured = Mapping[str, float]  # measure -> value, of one go
Contestant = Callable[[int], Measured]  # of a size


@dataclass
class Result:
    """What one benchmark found: measure -> contestant -> size -> values."""

    name: str
    title: str
    size: str  # what the sizes count
    values: dict[str, dict[str, dict[int, list[float]]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, contestant: str, size: int, measured: Measured) -> None:
        for measure, value in measured.items():
            sizes = self.values.setdefault(measure, {}).setdefault(contestant, {})
            sizes.setdefault(size, []).append(value)

    def contest(
        self,
        contestants: Mapping[str, Contestant],
        sizes: Mapping[int, int] | list[int],
        times: int,
    ) -> None:
        """Measure everybody at every size, *times* or as often as *sizes* says, in turns."""
        repeats = sizes if isinstance(sizes, Mapping) else dict.fromkeys(sizes, times)
        for size, often in repeats.items():
            for _ in range(often):
                for name, contestant in contestants.items():
                    self.add(name, size, contestant(size))

    def median(self, measure: str, contestant: str, size: int) -> float:
        return statistics.median(self.values[measure][contestant][size])

    def ratio(self, measure: str, contestant: str, other: str, size: int) -> float:
        return self.median(measure, contestant, size) / self.median(measure, other, size)

    def exponent(self, measure: str, contestant: str, least: int = 0) -> float:
        """k of the value ~ size ** k that fits best from size *least* on, on log-log scale."""
        points = [
            (log(size), log(statistics.median(values)))
            for size, values in self.values[measure][contestant].items()
            if size >= least
        ]
        return statistics.linear_regression(*zip(*points, strict=True)).slope

    def table(self) -> str:
        """Median and spread of everything, and the ratio to the first contestant."""
        lines = [self.title]
        for measure, contestants in self.values.items():
            lines.append(f"  {measure}")
            lines.append(
                f"  {self.size:>10} {'':24} {'median':>10} {'min':>10} {'max':>10} {'ratio':>8}"
            )
            first = next(iter(contestants))
            for size in sorted({size for sizes in contestants.values() for size in sizes}):
                for name, sizes in contestants.items():
                    if size in sizes:
                        lines.append(self._row(measure, name, first, size))
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def _row(self, measure: str, name: str, first: str, size: int) -> str:
        values = self.values[measure][name][size]
        known = size in self.values[measure][first] and self.median(measure, first, size)
        ratio = f"{self.ratio(measure, name, first, size):7.2f}x" if known else ""
        middle = " ".join(
            f"{v:10.3f}" for v in (statistics.median(values), min(values), max(values))
        )
        return f"  {size:10} {name:24} {middle} {ratio:>8}"

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.title,
            "size": self.size,
            "values": self.values,
            "notes": self.notes,
        }
