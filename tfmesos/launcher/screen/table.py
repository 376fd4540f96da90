"""The rows of the live display as lines that fit a terminal. Nothing here does I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...record import Record
from ...sanitize import cell, columns_of, fit, plain
from .live_area import StatusLine
from .progress_bar import MOST_BAR
from .rows import Row

GAP = 2  # columns between two cells
LEAST_WORDS = 28  # columns for progress and remarks, below which other columns give way
LEAST_OF_ALL = 10  # the same, for the state
MOST_NAME, MOST_NODE = 24, 20  # columns

_GREEN, _RED, _YELLOW, _DIM = 32, 31, 33, 2
_COLOURS = {
    "running": _GREEN,
    "succeeded": _GREEN,
    "failed": _RED,
    "stopped": _YELLOW,
    "held": _YELLOW,
}

_READ: dict[str, Callable[[Row], str]] = {
    "TASK": lambda row: row.name,
    "STATE": lambda row: row.state,
    "NODE": lambda row: row.node,
    "TIME": lambda row: row.time,
    "RESTARTS": lambda row: row.restarts,
    "CPU": lambda row: row.cpu,
    "MEMORY": lambda row: row.memory,
    "GPU": lambda row: row.gpu,
}
_GIVE_WAY = ("NODE", "RESTARTS", "TIME", "GPU", "MEMORY", "CPU", "STATE")  # in this order
_RIGHT = {"TIME", "RESTARTS", "CPU", "MEMORY", "GPU"}


class Table(Record):
    """*tasks* if they fit, *jobs* if not; *status* is a line below them."""

    tasks: tuple[Row, ...] = ()
    jobs: tuple[Row, ...] = ()
    status: str = ""

    def lines(self, columns: int, rows: int, colour: bool = False) -> list[str]:
        """At most two thirds of the *rows* of a terminal: the rest is for the output of tasks."""
        status = StatusLine(self.status).lines(columns, rows) if self.status else []
        shown = self._fitting(max(rows * 2 // 3, 1) - 1 - len(status))
        return [*(_lines(shown, columns - 1, colour) if shown else []), *status]

    def _fitting(self, room: int) -> Sequence[Row]:
        return next((rows for rows in (self.tasks, self.jobs) if 0 < len(rows) <= room), ())


def _lines(rows: Sequence[Row], width: int, colour: bool) -> list[str]:
    texts = {name: [plain(read(row)) for row in rows] for name, read in _READ.items()}
    wanted = max(map(_words_wanted, rows))
    widths = _widths({name: texts[name] for name in _READ if any(texts[name])}, wanted, width)
    rest = max(width - _total(widths) - GAP, 0) if wanted else 0
    header = _joined({name: name for name in widths}, widths, fit("PROGRESS", rest))
    lines = [_painted(header, _DIM) if colour else header]
    for number, row in enumerate(rows):
        cells = {name: texts[name][number] for name in widths}
        code = _COLOURS.get(row.state, _YELLOW) if colour else 0
        lines.append(_joined(cells, widths, _words(row, rest), code))
    return lines


def _widths(texts: dict[str, list[str]], wanted: int, width: int) -> dict[str, int]:
    """The widths of the visible columns, if progress and remarks need this much."""
    widths = {name: max(map(columns_of, (name, *texts[name]))) for name in texts}
    for name, most in (("TASK", min(MOST_NAME, width)), ("NODE", MOST_NODE)):
        widths[name] = min(widths.get(name, 0), most)
    widths = {name: widths[name] for name in texts}
    for name in _GIVE_WAY:
        least = min(wanted, LEAST_OF_ALL if name == "STATE" else LEAST_WORDS)
        if _total(widths) + (GAP + least if wanted else 0) > width:
            widths.pop(name, None)
    return widths


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + GAP * (len(widths) - 1)


def _words_wanted(row: Row) -> int:
    return columns_of(row.remark) or (MOST_BAR + 1 + columns_of(row.bar.words) if row.bar else 0)


def _words(row: Row, width: int) -> str:
    text = plain(row.remark or (row.bar.text(width) if row.bar else ""))
    return cell(text, min(width, columns_of(text)))


def _joined(cells: dict[str, str], widths: dict[str, int], words: str, code: int = 0) -> str:
    shown = {name: cell(cells[name], widths[name], right=name in _RIGHT) for name in widths}
    if code and "STATE" in shown:
        shown["STATE"] = _painted(shown["STATE"], code)
    return (" " * GAP).join([*shown.values(), words]).rstrip()


def _painted(text: str, code: int) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"
