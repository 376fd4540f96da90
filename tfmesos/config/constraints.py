"""Placement constraints as Marathon and DC/OS write them: ``[JOB=]FIELD:OPERATOR[:VALUE]``.

FIELD is ``hostname`` or the name of an agent's attribute. A constraint holds within one job.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import SpecError
from ..record import NOTHING, Record

HOSTNAME = "hostname"
OPERATORS = ("UNIQUE", "CLUSTER", "GROUP_BY", "MAX_PER", "IS", "LIKE", "UNLIKE")

_PATTERNS = ("LIKE", "UNLIKE")
_COUNTS = ("GROUP_BY", "MAX_PER")
_WITHOUT_VALUE = ("UNIQUE", "CLUSTER", "GROUP_BY")  # of these the last two may have one
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class Node(Record):
    """What constraints look at: the host name and the attributes, as text, of an agent."""

    hostname: str
    attributes: Mapping[str, str] = NOTHING

    def value(self, name: str) -> str | None:
        return self.hostname if name == HOSTNAME else self.attributes.get(name)


class Constraint(Record):
    field: str
    operator: str
    value: str = ""  # as it was given; "" for none

    def __str__(self) -> str:
        return ":".join(part for part in (self.field, self.operator, self.value) if part)

    @property
    def chooses_value(self) -> bool:
        """All tasks on one value, whichever it is."""
        return self.operator == "CLUSTER" and not self.value

    @property
    def is_fixed(self) -> bool:
        """Does it depend on the node only, and not on where the other tasks are?"""
        return self.operator in ("IS", *_PATTERNS) or (
            self.operator == "CLUSTER" and self.value != ""
        )

    def admits(self, node: Node) -> bool:
        """May a task be on *node*, as far as the node alone can say?"""
        value = node.value(self.field)
        if value is None:
            return self.operator == "UNLIKE"
        if self.operator in _PATTERNS:
            return bool(re.fullmatch(self.value, value)) == (self.operator == "LIKE")
        return not self.is_fixed or canonical(value) == canonical(self.value)

    def limit(self, tasks: int) -> int | None:
        """How many of the *tasks* of a job may share one value; None for any number."""
        if self.operator == "UNIQUE":
            return 1
        if self.operator == "MAX_PER":
            return int(self.value)
        return -(-tasks // self.groups) if self.groups else None

    @property
    def groups(self) -> int:
        """The number of values that GROUP_BY requires; 0 if it requires none."""
        return int(self.value) if self.operator == "GROUP_BY" and self.value else 0

    @property
    def noun(self) -> str:
        return "host" if self.field == HOSTNAME else self.field


def parse(text: Any) -> Constraint:
    """A constraint without a job before it; SpecError if it is malformed."""
    if isinstance(text, Constraint):
        return text
    if not isinstance(text, str):
        raise _bad(f"must be a string such as hostname:UNIQUE, got {text!r}")
    name, _, rest = text.partition(":")
    operator, _, value = rest.partition(":")
    if not name or not operator:
        raise _bad(f"must be FIELD:OPERATOR[:VALUE], such as hostname:UNIQUE, got {text!r}")
    operator = operator.upper()
    if operator not in OPERATORS:
        raise _bad(f"has the unknown operator {operator!r} in {text!r}: use {', '.join(OPERATORS)}")
    if problem := _problem(operator, value):
        raise _bad(f"{text!r} {problem}")
    return Constraint(name, operator, value)


def parse_for_job(text: Any) -> tuple[str | None, Constraint]:
    """A constraint and the job that is named before it, None for each job of the run."""
    head = text.partition(":")[0] if isinstance(text, str) else ""
    job, equals, _ = head.partition("=")
    return (job, parse(text[len(job) + 1 :])) if equals else (None, parse(text))


def parse_all(given: Any) -> Iterable[Any]:
    """The entries of a list of constraints; a single string is refused."""
    if isinstance(given, (str, Constraint)) or not isinstance(given, Iterable):
        raise _bad(f"must be a list of strings such as hostname:UNIQUE, got {given!r}")
    return given


def _problem(operator: str, value: str) -> str:
    if not value:
        return "" if operator in _WITHOUT_VALUE else f"needs a value after {operator}:"
    if operator == "UNIQUE":
        return "has a value, but UNIQUE takes none"
    if operator in _COUNTS and not re.fullmatch(r"0*[1-9]\d{0,8}", value, re.ASCII):
        return f"needs a whole number above 0 after {operator}:"
    if operator in _PATTERNS:
        return _problem_of_pattern(value)
    return ""


def _problem_of_pattern(pattern: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what other versions of Python will take it for
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            return f"has an invalid regular expression: {error}"
    return ""


def _bad(problem: str) -> SpecError:
    return SpecError(None, "constraints", problem)


def text_of(attribute: Mapping[str, Any]) -> str:
    """An attribute of a Mesos offer: ``r1``, ``2.5``, ``[1-3,7-9]`` or ``{a,b}``."""
    if "text" in attribute:
        return str(attribute["text"]["value"])
    if "scalar" in attribute:
        return number_text(attribute["scalar"]["value"])
    if "set" in attribute:
        return "{" + ",".join(attribute["set"].get("item", ())) + "}"
    ranges = attribute.get("ranges", {}).get("range", ())
    return "[" + ",".join(f"{r['begin']}-{r['end']}" for r in ranges) + "]"


def number_text(number: float) -> str:
    """With three decimals at most, as Mesos counts."""
    return f"{number:.3f}".rstrip("0").rstrip(".")


def canonical(text: str) -> str:
    """2.0 is 2, and blanks in ranges and sets do not count."""
    if _NUMBER.fullmatch(text):
        return number_text(float(text))
    return text.replace(" ", "") if text[:1] in ("[", "{") else text
