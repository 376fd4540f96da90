"""What the tasks of a run used, in a file of limited size: a line of JSON for each measurement.

When it is full, every second measurement of each task is removed, and so on each time it fills up.
So it covers the whole run, its past less finely than the present. The file is replaced then: a
process that has it open sees its old state.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from ..json_types import Json
from ..launcher.links.usage import Gpu, Usage
from .task_log import append

FIRST_GAP, LONGEST_GAP = 4.5, 86_400.0  # seconds; they come every five
LIMIT = 16 * 1024 * 1024  # bytes
TAIL = 1024 * 1024  # bytes, in which the latest of each of a few thousand tasks are


def line_of(at: float, task: str, usage: Usage) -> bytes:
    gpus = [{"busy": gpu.busy, "used": gpu.used, "total": gpu.total} for gpu in usage.gpus]
    values = {"task": task, "at": round(at, 1), "cpu": usage.cpu, "memory": usage.memory}
    return _encoded({**values, **({"gpus": gpus} if gpus else {})})


def usage_in(measurement: Json) -> Usage | None:
    """The inverse of ``line_of``; None if another version wrote the line."""
    try:
        gpus = tuple(Gpu(*(gpu[key] for key in Gpu.__match_args__)) for gpu in _gpus(measurement))
        return Usage(float(measurement["cpu"]), int(measurement["memory"]), gpus)
    except (KeyError, TypeError, ValueError):
        return None


def _gpus(measurement: Json) -> list[Json]:
    found = measurement.get("gpus", [])
    return found if isinstance(found, list) else []


def thinned(measurements: Iterable[Json], gap: float) -> Iterator[Json]:
    """Keeps, of each task, measurements that are at least *gap* seconds apart."""
    next_at: dict[str, float] = {}
    for one in measurements:
        if one["at"] >= next_at.get(one["task"], 0.0):
            next_at[one["task"]] = one["at"] + gap
            yield one


class MeasurementLog:
    """Written by one thread. It thins itself out."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._size = 0
        self._gap = FIRST_GAP  # seconds between two of a task, in what has been thinned out

    def append(self, data: bytes) -> None:
        append(self._path, data)
        self._size += len(data)
        if self._size > self._limit:
            self._thin_out()

    def _thin_out(self) -> None:
        kept, size = list(read_measurements(self._path)), self._size
        while size > self._limit // 2 and self._gap < LONGEST_GAP:
            kept = list(thinned(kept, self._gap))
            size = sum(len(json.dumps(one)) + 1 for one in kept)
            self._gap *= 2 if size > self._limit // 2 else 1
        new = self._path.with_name(f"{self._path.name}.new")
        new.unlink(missing_ok=True)
        append(new, b"".join(_encoded(one) for one in kept))
        new.replace(self._path)
        self._size = size


def _encoded(measurement: Json) -> bytes:
    return json.dumps(measurement).encode() + b"\n"


def read_measurements(path: Path, at_most: int | None = None) -> Iterator[Json]:
    """All in the file, or those in its last *at_most* bytes; invalid lines are left out."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            start = 0 if at_most is None else max(size - at_most, 0)
            file.seek(start)
            for line in islice(file, 1 if start else 0, None):
                if (found := _measurement(line)) is not None:
                    yield found
    except FileNotFoundError:
        return


def latest(path: Path) -> dict[str, Json]:
    """The last measurement of each task."""
    return {found["task"]: found for found in read_measurements(path, TAIL)}


def _measurement(line: bytes) -> Json | None:
    try:
        found: Any = json.loads(line)
    except ValueError:
        return None  # cut in a crash, or being written
    if not isinstance(found, dict) or not isinstance(found.get("task"), str):
        return None
    return found if isinstance(found.get("at"), (int, float)) else None
