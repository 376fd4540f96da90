"""What the formats of job files share: a translation into our own, and the error of a key.

Our own document is a dict: ``jobs`` (name -> fields of a Job, and ``serve``), ``cmd`` for the
jobs without one, and every setting under its field's name. A module of another format has

* ``is_mine(tree)``: does this document look like one of that format? * ``to_ours(tree, beside)``:
its ``Translation``; JobFileError for what is not supported here * ``from_ours(document)``: the
other way round, where there is one; JobFileError with the key of our document that the format
cannot express
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SpecError
from ..record import NOTHING, Record
from ..text import shortened

Document = dict[str, Any]
Key = tuple[str | int, ...]  # the way to a value: ("jobs", "worker", "mem"), ("args", 3)


class Translation(Record):
    """A document in our format, and what its user should know about the original."""

    document: Document
    remarks: Sequence[str] = ()  # printed as one warning each
    origins: Mapping[Key, Key] = NOTHING  # key of ours -> key of theirs, for the lines of errors


class Beside(Record):
    """What flags or keywords say that affects the meaning of the file."""

    runs_pods: bool = False  # does the engine, so that settings of pods have an effect?
    log_dir: str | None = None
    mounted: tuple[str, ...] = ()  # paths in containers that have a volume


NOTHING_BESIDE = Beside()


class JobFileError(SpecError):
    """Something is wrong with the value at *key* of a document, or with the key itself."""

    def __init__(self, key: Key, problem: str, place: str = "") -> None:
        super().__init__(None, dotted(key), problem)
        self.key = key
        self.place = place

    def __str__(self) -> str:
        words = f"{self.field} {self.problem}".strip()
        return f"{self.place}: {words}" if self.place else words


def dotted(key: Key) -> str:
    """As people write it: ``jobs.worker.constraints[0]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{_name(part)}" for part in key)
    return "".join(parts).removeprefix(".")


def _name(part: str) -> str:
    """On one line, whatever it holds."""
    return shortened(part if part.isprintable() else repr(part), 80)
