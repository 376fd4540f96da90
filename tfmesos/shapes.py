"""Values of the JSON that others send: of the kind they must be, or TypeError or ValueError."""

from __future__ import annotations

from typing import Any

_MOST = 2**53  # up to here a number of JSON is exact everywhere


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} where a text was due")
    return value


def number(value: Any) -> float:
    """A number that can be an amount: neither negative nor beyond all bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} where a number was due")
    if not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is no amount")
    return value


def whole(value: Any) -> int:
    if number(value) != int(value):
        raise ValueError(f"{value!r} where a whole number was due")
    return int(value)
