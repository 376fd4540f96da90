"""A line of a task's log: when it came, on which stream, and what it said."""

from __future__ import annotations

from datetime import UTC, datetime

from ..record import Record

_MARKS = {"stdout": "out", "stderr": "err", "tfrun": "tfrun"}
_STREAMS = {mark: stream for stream, mark in _MARKS.items()}


class Line(Record):
    at: float  # in seconds since 1970; 0 for a note of the log itself
    stream: str  # stdout, stderr, or tfrun: a note of ours
    text: str


def written_line(at: float, stream: str, text: str) -> bytes:
    """The lines of *text* as a log holds them."""
    text = last_states(text)
    when = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")[:23]
    before = f"{when}Z {_MARKS.get(stream, stream)} "
    whole = before + text[:-1].replace("\n", f"\n{before}") + "\n"
    return whole.encode("utf-8", "backslashreplace")


def last_states(text: str) -> str:
    """Whole lines, and of each progress bar what it shows in the end."""
    if "\r" not in text:
        return text
    return "".join(f"{_last_state(line)}\n" for line in text[:-1].split("\n"))


def _last_state(line: str) -> str:
    """Of a progress bar, what it shows in the end."""
    return line.rstrip("\r").rpartition("\r")[2]


def parse(line: bytes) -> Line:
    text = line.decode("utf-8", "replace").rstrip("\n")
    when, _, rest = text.partition(" ")
    mark, _, said = rest.partition(" ")
    try:
        return Line(datetime.fromisoformat(when).timestamp(), _STREAMS[mark], said)
    except (KeyError, ValueError):
        return Line(0.0, "tfrun", text)
