"""How to handle tasks that end too early, for a whole run or for one job."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

from ..errors import MAX_CODE, SpecError
from ..record import Record
from ..text import shortened
from .failure_settings import DEFAULT_CODES, DEFAULT_POLICY, DEFAULT_RESTARTS
from .setting import UNLIMITED

Often = float | str | None  # a whole number, infinity or the word for it


class RestartPolicy(Record):
    """What is done about tasks that end before their time.

    Before the cluster has started any task is launched again; after it, by ``after_start``:
    ``never``, the ``task`` alone, or ``all`` tasks with a fresh cluster spec, and only for ends
    that are not the command's own fault: a lost node, or one of ``codes``.
    """

    limit: float = DEFAULT_RESTARTS  # a whole number, or infinity
    after_start: str = DEFAULT_POLICY
    codes: frozenset[int] = frozenset(DEFAULT_CODES)

    @property
    def limit_before_start(self) -> float:
        """The limit for restarts before the start, which is always finite."""
        return DEFAULT_RESTARTS if self.limit == inf else self.limit

    def changed(
        self, restarts: Often, after_start: str | None, codes: str | Iterable[int] | None
    ) -> RestartPolicy:
        """The policy of a job that overrides part of that of the run."""
        return RestartPolicy(
            self.limit if restarts is None else parse_limit(restarts),
            after_start or self.after_start,
            self.codes if codes is None else parse_codes(codes),
        )


USUAL_RESTARTS = RestartPolicy()


def parse_limit(given: float | str) -> float:
    """How often, from what ``setting.how_often`` lets pass: a number or the word for no limit."""
    return inf if given in (UNLIMITED, inf) else int(given)


def parse_codes(given: str | Iterable[int]) -> frozenset[int]:
    """Exit codes from a text such as ``137,143`` or ``128-255``, or from a list of numbers."""
    try:
        codes = _numbers_in(given) if isinstance(given, str) else list(given)
    except TypeError:
        codes = [None]
    parsed = frozenset(code for code in codes if type(code) is int and 0 < code <= MAX_CODE)
    if not all(code in parsed and type(code) is int for code in codes):
        problem = "must be exit codes from 1 to 255, as in 137,143 or 128-255, got"
        raise SpecError(None, "retry_codes", f"{problem} {shortened(repr(given), 80)}")
    return parsed


def _numbers_in(text: str) -> Sequence[object]:
    """The numbers of a list such as ``1,128-255``; None for what cannot be a code."""
    parts = [part.strip() for part in text.split(",")]
    return [number for part in parts if part for number in _range(part)]


def _range(text: str) -> Sequence[object]:
    ends = [_number(part.strip()) for part in text.split("-", 1)]
    if None in ends:
        return [None]
    first, last = ends[0], ends[-1]
    return range(first, last + 1) or [None]


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 4 else None
