"""JSON, with the line of each key."""

from __future__ import annotations

import json
import re
from typing import Any

from .reading import MAX_DEPTH, Twice, Unreadable
from .translation import Key

_TOKEN = re.compile(r'[{}\[\],]|("(?:[^"\\]|\\.)*")(\s*:)?|[-+.\w]+|\n')
_MAX_DIGITS = 20  # of 2**64


def parse(text: str) -> tuple[Any, dict[Key, int]]:
    try:
        value = json.loads(text, parse_int=_whole, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is not valid JSON: {error.msg}", error.lineno) from None
    except ValueError as error:  # of _whole or _refuse
        raise Unreadable(f"is not valid JSON: {error}") from None
    except RecursionError:
        raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep") from None
    return value, _lines(text)


def _whole(digits: str) -> int:
    """Python itself refuses only thousands of digits, and its message is about Python."""
    if len(digits) > _MAX_DIGITS + digits.startswith("-"):
        raise ValueError("it has a number of more than 64 bits")
    return int(digits)


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number")


def _lines(text: str) -> dict[Key, int]:
    """The line of each key. The text is known to be JSON."""
    lines: dict[Key, int] = {}
    around: list[Key] = []  # the keys of the brackets that are open
    here, line = Key(), 1
    for token in _TOKEN.finditer(text):
        if token[2]:
            here = (*around[-1], json.loads(token[1]))
            if here in lines:
                raise Twice(here, line, lines[here])
        if token[0] not in (",", "\n", "]", "}"):
            lines.setdefault(here, line)
        here = _next_key(token[0], here, around)
        if len(around) > MAX_DEPTH:
            raise Unreadable(f"is nested more than {MAX_DEPTH} levels deep", line)
        line += token[0].count("\n")
    return lines


def _next_key(token: str, here: Key, around: list[Key]) -> Key:
    """The key of what follows *token*; in an object, the next name."""
    if token in ("{", "["):
        around.append(here)
        return (*here, 0) if token == "[" else here
    if token in ("}", "]"):
        return around.pop()
    if token == "," and len(here) > len(around[-1]) and isinstance(here[-1], int):
        return (*here[:-1], here[-1] + 1)
    return here
