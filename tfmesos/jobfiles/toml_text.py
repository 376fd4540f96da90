"""TOML, with the line of each key that begins a line."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from .reading import MAX_DEPTH, Unreadable
from .translation import Key

_NAME = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_LINE = re.compile(rf"\s*(?:\[\s*({_NAMES})\s*\]|({_NAMES})\s*=)")

_TOO_LONG = "is not valid TOML: it has a number of more than 64 bits"


def parse(text: str) -> tuple[Any, dict[Key, int]]:
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.fullmatch(r"(.*) \(at (?:line (\d+), .*|end of document)\)", str(error), re.S)
        problem, line = (found[1], found[2]) if found else (str(error), None)
        raise Unreadable(f"is not valid TOML: {problem}", int(line) if line else None) from None
    except ValueError:  # a number of thousands of digits
        raise Unreadable(_TOO_LONG) from None
    _check(value)
    return value, _lines(text, value)


def _check(value: Any, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep")
    if isinstance(value, int) and value.bit_length() > 64:
        raise Unreadable(_TOO_LONG)
    for one in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _check(one, depth + 1)


def _lines(text: str, value: dict[str, Any]) -> dict[Key, int]:
    """A text of several lines may look like keys: only existing keys count."""
    lines: dict[Key, int] = {(): 1}
    table: Key = ()
    for number, line in enumerate(text.splitlines(), 1):
        if not (found := _LINE.match(line)):
            continue
        names = tuple(name.strip("\"'") for name in re.findall(_NAME, found[1] or found[2]))
        key = names if found[1] else (*table, *names)
        table = names if found[1] else table
        if _is_in(value, key):
            for n in range(1, len(key) + 1):
                lines.setdefault(key[:n], number)
    return lines


def _is_in(value: Any, key: Key) -> bool:
    for name in key:
        if not isinstance(value, dict) or name not in value:
            return False
        value = value[name]
    return True
