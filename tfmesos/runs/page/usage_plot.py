"""The usage of the tasks of a run, as points of plots: few enough to draw."""

from __future__ import annotations

import json
from typing import Any

from ..growing_file import GrowingFile
from ..run_files import RunDirectory

MOST_POINTS = 20_000  # of all tasks in one look
MOST_OF_A_TASK = 240
FEWEST_OF_A_TASK = 20

Point = tuple[float, float, float, float | None]  # time, cpu, memory, the busiest GPU


class Usage:
    """Continues where the last read ended; from the beginning if the file was replaced."""

    def __init__(self, run: RunDirectory) -> None:
        self._file = GrowingFile(run.measurements_file)

    def look(self) -> dict[str, list[Point]]:
        """The new points of each task, in the order of time; those of a replaced file come again,
        fewer and at the same times."""
        points: dict[str, list[Point]] = {}
        for line in self._file.new_lines():
            if (one := _point(line)) is not None:
                points.setdefault(one[0], []).append(one[1])
        most = max(FEWEST_OF_A_TASK, min(MOST_OF_A_TASK, MOST_POINTS // max(len(points), 1)))
        return {task: _thinned(its, most) for task, its in points.items()}


def _thinned(points: list[Point], most: int) -> list[Point]:
    """Thins out the points; the last one stays."""
    step = -(-len(points) // most)
    return points[::-1][::step][::-1]


def _point(line: bytes) -> tuple[str, Point] | None:
    try:
        found: Any = json.loads(line)
        busy = [float(gpu["busy"]) for gpu in found.get("gpus", ()) if gpu["busy"] is not None]
        amounts = float(found["at"]), float(found["cpu"]), float(found["memory"])
        return str(found["task"]), (*amounts, max(busy, default=None))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None  # cut in a crash, or written by another version
