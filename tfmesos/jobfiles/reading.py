"""Reads the bytes of a job file: its content, and the line of each key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..record import Record
from . import ENDINGS
from .translation import JobFileError, Key

MAX_BYTES = 1024 * 1024
MAX_VALUES = 100_000  # an anchor may stand for many, and another one for many of these
MAX_DEPTH = 50

_HELM = "is a Helm template: render it first, with helm template"
_OF_HELM = re.compile(r"\{\{-?\s*(?:\$?\.(?:Values|Release|Chart)\b|(?:include|if|range)\s)")
_TOML = re.compile(r"(?:\s|#.*\n)*(?:[\w.\"-]+\s*=|\[\[?[\w.\"-]+\]\]?\s*$)", re.M)


class Tree(Record):
    """A document as it was read. ``lines`` are counted from 1."""

    name: str  # of the file
    value: dict[str, Any]
    lines: Mapping[Key, int]
    left_out: tuple[str, ...] = ()  # other documents of the file

    def locate(self, key: Key, problem: str) -> JobFileError:
        """The error about *key*, with the file, and the line of the nearest key that has one."""
        known = (self.lines[key[:n]] for n in range(len(key), -1, -1) if key[:n] in self.lines)
        line = next(known, None)
        return JobFileError(key, problem, self.name if line is None else f"{self.name}:{line}")


class Unreadable(Exception):
    """The problem that a reader found, and its line if known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class Twice(Unreadable):
    """A key is given twice: nobody knows which of the two values is meant."""

    def __init__(self, key: Key, line: int, first: int) -> None:
        super().__init__(f"{key[-1]} is given twice, first in line {first}", line)


def read(content: bytes, name: str) -> Tree:
    """The document in *content*, in the format of its *name*; JobFileError if it is invalid."""
    text = ""
    try:
        text = _text_of(content)
        value, lines, *others = _reader_of(name, text)(text)
    except RecursionError:
        raise JobFileError((), f"is nested more than {MAX_DEPTH} levels deep", name) from None
    except Unreadable as error:
        place = name if error.line is None else f"{name}:{error.line}"
        problem = _HELM if _is_of_helm(text, error.line) else error.problem
        raise JobFileError((), problem, place) from None
    if not isinstance(value, dict):
        problem = "is empty" if value is None else "must contain keys with values"
        raise JobFileError((), f"{problem}: a job file begins with jobs, cmd, name ...", name)
    if "kind" in value and _is_of_helm(text):
        raise JobFileError((), _HELM, name)
    return Tree(name, value, lines, tuple(others))


def _is_of_helm(text: str, line: int | None = None) -> bool:
    """Do the braces of the file, or of the invalid *line*, suggest a Helm template?"""
    here = text.splitlines()[line - 1 : line] if line else []
    return bool(_OF_HELM.search(text)) or any(": {{" in one for one in here)


def _text_of(content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise Unreadable(f"is longer than {MAX_BYTES:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"must be UTF-8, got the byte {content[error.start]:#x}", line) from None


def _reader_of(name: str, text: str) -> Any:
    """By the extension; standard input has none, so by how it begins."""
    if name.endswith(".json") or (not _has_format(name) and text.lstrip()[:1] == "{"):
        from .json_text import parse
    elif name.endswith(".toml") or (not _has_format(name) and _TOML.match(text)):
        from .toml_text import parse
    else:
        from .yaml_text import parse
    return parse


def _has_format(name: str) -> bool:
    return name.endswith(ENDINGS)
