"""The one reader of JSON that others wrote: it limits values, depth and numbers.

How many bytes there are is limited where they arrive. Within these, a text of brackets takes 30
times its size in memory, deep nesting ends in RecursionError somewhere later, and a huge number in
OverflowError. So all three are refused here, with ValueError.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    scan: Callable[[str, int], tuple[Any, int]]

MAX_VALUES = 2_000_000  # offers of 10,000 agents at once have about half as many
MAX_DEPTH = 64
MAX_DIGITS = 20  # of 2**64

_AS_LIST = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b"[]{}")


def read(data: bytes) -> Any:
    """The value of a JSON text in UTF-8; ValueError if it is invalid, or beyond the limits."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES} values")
    text = data.decode("utf-8").strip(" \t\r\n")
    try:
        value, end = scan(text, 0)
    except StopIteration:
        raise ValueError("a value is missing") from None
    except RecursionError:
        end = -1
    if end < 0 or _is_deep(data):
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
    if end != len(text):
        raise ValueError("trailing data after the value")
    return value


def _is_deep(data: bytes) -> bool:
    """Take away the innermost brackets as often as is allowed, and see whether any are left."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    unescaped = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside_of_strings = b"".join(unescaped.split(b'"')[::2])
    brackets = outside_of_strings.translate(_AS_LIST, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        brackets = brackets.replace(b"[]", b"")
    return bool(brackets)


def _whole(text: str) -> int:
    if len(text) > MAX_DIGITS + text.startswith("-"):
        raise ValueError(f"a number of {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number out of range")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class _Dialect:
    """What the scanner asks for: JSON as its standard has it."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int = _float, _whole
    parse_constant = _refuse_constant


if not TYPE_CHECKING:
    try:
        from _json import make_scanner

        scan = make_scanner(_Dialect)
    except (ImportError, TypeError, AttributeError):
        from json import JSONDecoder

        scan = JSONDecoder(
            parse_float=_float, parse_int=_whole, parse_constant=_refuse_constant
        ).scan_once
