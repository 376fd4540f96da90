"""The progress bars of the tasks of a run, in a small file: a line of JSON for each new state.

When the file is full, it is replaced by one with the last state of each bar.
"""

from __future__ import annotations

import json
from pathlib import Path

from .growing_file import GrowingFile
from .task_log import append

LIMIT = 1024 * 1024  # bytes


def bar_line(task: str, at: float, bar: str) -> bytes:
    """*bar* is the line of the task as it looks now; empty if it is no longer rewritten."""
    return json.dumps({"task": task, "at": at, "bar": bar}).encode() + b"\n"


class ProgressLog:
    """Written by one thread."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path = path
        self._limit = limit
        self._size = 0

    def append(self, data: bytes) -> None:
        if self._size + len(data) > self._limit:
            self._shorten()
        append(self._path, data)
        self._size += len(data)

    def _shorten(self) -> None:
        bars = ProgressReader(self._path).look()
        kept = b"".join(bar_line(task, *last) for task, last in bars.items())
        new = self._path.with_name(f"{self._path.name}.new")
        new.unlink(missing_ok=True)
        append(new, kept)
        new.replace(self._path)
        self._size = len(kept)


class ProgressReader:
    def __init__(self, path: Path) -> None:
        self._file = GrowingFile(path)
        self._bars: dict[str, tuple[float, str]] = {}

    def look(self) -> dict[str, tuple[float, str]]:
        """By task, the last state of each unfinished bar, and since when."""
        for line in self._file.new_lines():
            self._take(line)
        return dict(self._bars)

    def _take(self, line: bytes) -> None:
        try:
            found = json.loads(line)
            task, at, bar = str(found["task"]), float(found["at"]), str(found["bar"])
        except (ValueError, TypeError, KeyError):
            return  # cut in a crash
        self._bars.pop(task, None)
        if bar:
            self._bars[task] = at, bar
