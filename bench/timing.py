"""Contestants measured in turns, so that a noisy machine is noisy to all of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import NamedTuple

FEW = 4  # contestants, whose spread is shown, too

Measured = Mapping[str, float]  # measure -> value, of one go
Contestant = Callable[[int], Measured]  # of a size


class Goal(NamedTuple):
    """What is wanted, what was found, and whether they agree."""

    what: str
    found: float
    bound: float
    unit: str  # "x" for a ratio
    is_least: bool = False  # is the bound what is wanted at least, or at most?

    @property
    def is_met(self) -> bool:
        return self.found >= self.bound if self.is_least else self.found <= self.bound

    def row(self) -> list[str]:
        bound = f"{'at least' if self.is_least else 'at most'} {self.bound:g} {self.unit}"
        return [
            self.what,
            bound,
            f"{_short(self.found)} {self.unit}",
            "" if self.is_met else "MISSED",
        ]


def goals_table(goals: Sequence[Goal]) -> str:
    rows = [["goal", "bound", "found", ""], *(goal.row() for goal in goals)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


@dataclass
class Result:
    """What one benchmark found: measure -> contestant -> size -> values."""

    name: str
    title: str
    size: str  # what the sizes count
    values: dict[str, dict[str, dict[int, list[float]]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)

    def aim(
        self, what: str, found: float, bound: float, unit: str = "x", *, is_least: bool = False
    ) -> None:
        self.goals.append(Goal(what, found, bound, unit, is_least))

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
        """A row for every size, a column for every contestant: the median, and the spread."""
        lines = [self.title]
        for measure, contestants in self.values.items():
            cell = _spread if len(contestants) <= FEW else _median
            rows = [["", self.size, *contestants]]
            for size in sorted({size for sizes in contestants.values() for size in sizes}):
                cells = (
                    cell(sizes[size]) if size in sizes else "" for sizes in contestants.values()
                )
                rows.append(["", str(size), *cells])
            lines += ["", f"  {measure}", *_aligned(rows)]
        return "\n".join([*lines, "", *(f"  {note}" for note in self.notes)])

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.title,
            "size": self.size,
            "values": self.values,
            "notes": self.notes,
            "goals": [goal._asdict() for goal in self.goals],
        }


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.rjust, row, widths)) for row in rows]


def _median(values: list[float]) -> str:
    return _short(statistics.median(values))


def _spread(values: list[float]) -> str:
    if len(values) == 1:
        return _short(values[0])
    return f"{_median(values)} ({_short(min(values))}-{_short(max(values))})"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3f}"
