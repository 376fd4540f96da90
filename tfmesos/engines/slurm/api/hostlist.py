"""Expands Slurm's lists of node names: ``n[1-3,07],login``."""

from __future__ import annotations

import re
from collections.abc import Iterator

_NONE = ("", "(null)", "None assigned")
_MOST = 100_000  # names; more is not a list of nodes


def expand(text: str) -> tuple[str, ...]:
    """The names that *text* stands for; if it is malformed, the text itself."""
    if text in _NONE:
        return ()
    names = [name for part in _parts(text) for name in _names(part)]
    return tuple(names[:_MOST])


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside of brackets."""
    return (part for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) if part)


def _names(part: str) -> Iterator[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        yield part
        return
    inside, _, tail = rest.partition("]")
    for number in _numbers(inside):
        for end in _names(tail):
            yield f"{head}{number}{end}"


def _numbers(inside: str) -> Iterator[str]:
    for piece in inside.split(","):
        first, _, last = piece.partition("-")
        if not last or not (first.isdigit() and last.isdigit()):
            yield piece
            continue
        for number in range(int(first), min(int(last), int(first) + _MOST) + 1):
            yield str(number).zfill(len(first))
