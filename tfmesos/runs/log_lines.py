"""A line of a task's log: when it came, on which stream, and what it said."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ..record import Record

_MARKS = {"stdout": "out", "stderr": "err", "tfrun": "tfrun"}
_STREAMS = {mark: stream for stream, mark in _MARKS.items()}


_LEFT_OUT = re.compile(rb"\S+ tfrun \((\d+) lines left out here: .*\)")


class Line(Record):
    at: float  # in seconds since 1970; 0 for a note of the log itself
    stream: str  # stdout, stderr, or tfrun: a note of ours
    text: str

    @property
    def when(self) -> str:
        return timestamp(self.at)


def timestamp(at: float) -> str:
    """As in ``2026-11-01T12:00:00.000Z``."""
    return f"{datetime.fromtimestamp(at, UTC).isoformat(timespec='milliseconds')[:23]}Z"


def written_line(at: float, stream: str, text: str) -> bytes:
    """The lines of *text* as a log holds them."""
    text = last_states(text)
    before = f"{timestamp(at)} {_MARKS.get(stream, stream)} "
    whole = before + text[:-1].replace("\n", f"\n{before}") + "\n"
    return whole.encode("utf-8", "backslashreplace")


def left_out(lines: int, why: str) -> str:
    return f"({lines} lines left out here: {why})\n"


def lines_in(data: bytes) -> int:
    """How many lines of a task *data* represents: a note counts the lines that it mentions."""
    notes = (_LEFT_OUT.fullmatch(line) for line in data.splitlines())
    return sum(int(note[1]) if note else 1 for note in notes)


def last_states(text: str) -> str:
    """Whole lines, with only the last state of each progress bar."""
    if "\r" not in text:
        return text
    return "".join(f"{_last_state(line)}\n" for line in text[:-1].split("\n"))


def _last_state(line: str) -> str:
    """The last state of a progress bar."""
    return line.rstrip("\r").rpartition("\r")[2]


def parse(line: bytes) -> Line:
    text = line.decode("utf-8", "replace").rstrip("\n")
    when, _, rest = text.partition(" ")
    mark, _, said = rest.partition(" ")
    try:
        return Line(datetime.fromisoformat(when).timestamp(), _STREAMS[mark], said)
    except (KeyError, ValueError):
        return Line(0.0, "tfrun", text)
