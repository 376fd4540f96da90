"""Which messages of each runner are recorded, and up to which position in the log of its task.

A line is added after every batch of output, when the output itself is in its log; what the logs
contain beyond the last line will come again. Only the last line of an attempt counts: the file is
rewritten when it has grown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from ...record import Record
from ..task_log import Position, append

REWRITE_AT = 1024 * 1024  # bytes


class Taken(Record):
    """How many messages of the attempt *task_id* are recorded, and whether that is all."""

    task_id: str
    number: int
    is_last: bool
    log: str
    position: Position | None  # None: nothing is in the log


class TakenLog:
    def __init__(self, path: Path, known: Iterable[Taken] = ()) -> None:
        self._path = path
        self._known = {taken.task_id: taken for taken in known}
        self._size = 0
        if self._known:
            self._rewrite()

    def add(self, news: Iterable[Taken]) -> None:
        """Raises OSError."""
        news = list(news)
        self._known.update((taken.task_id, taken) for taken in news)
        data = b"".join(map(_line, news))
        if self._size + len(data) > max(REWRITE_AT, 256 * len(self._known)):
            return self._rewrite()
        append(self._path, data)
        self._size += len(data)

    def _rewrite(self) -> None:
        data = b"".join(map(_line, self._known.values()))
        new = self._path.with_name(f".{self._path.name}.new")
        new.unlink(missing_ok=True)
        append(new, data)
        new.replace(self._path)
        self._size = len(data)


def _line(taken: Taken) -> bytes:
    values = [taken.task_id, taken.number, taken.is_last, taken.log, taken.position]
    return json.dumps(values).encode() + b"\n"


def read(path: Path) -> list[Taken]:
    """The last line of each attempt, in the order of the file. Raises ValueError."""
    found: dict[str, Taken] = {}
    try:
        lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last newline is cut
    except FileNotFoundError:
        return []
    for number, line in enumerate(lines, 1):
        taken = _taken(line)
        if taken is None:
            raise ValueError(f"{path} is damaged: line {number} is malformed")
        found.pop(taken.task_id, None)
        found[taken.task_id] = taken
    return list(found.values())


def _taken(line: bytes) -> Taken | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    match value:
        case [str(task_id), number, bool(is_last), str(log), None] if _is_count(number):
            return Taken(task_id, number, is_last, log, None)
        case [str(task_id), number, bool(is_last), str(log), [_, _, _, _] as position] if all(
            map(_is_count, [number, *position])
        ):
            return Taken(task_id, number, is_last, log, Position(*position))
    return None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
