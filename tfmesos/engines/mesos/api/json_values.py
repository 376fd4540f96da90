"""JSON values from Mesos: each has the required type, or TypeError or ValueError is raised."""

from __future__ import annotations

import json
from typing import Any

from ....shared import json_reader

# What reading raises where a value is missing or not of its kind.
NONSENSE = (KeyError, TypeError, ValueError, AttributeError)
_MOST = 2**53  # up to here a number of JSON is exact everywhere


def read_json(data: bytes) -> Any:
    """The value of *data*. Text that cannot be encoded is refused: some of it is sent back."""
    value = json_reader.read(data)
    if b"\\ud" in data.lower() and not _can_be_sent(value):
        raise ValueError("a string with half of a surrogate pair")
    return value


def _can_be_sent(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} in place of a string")
    return value


def number(value: Any) -> float:
    """A number that can be an amount: neither negative nor too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{value!r} in place of a number")
    if not 0 <= value <= _MOST:
        raise ValueError(f"{value!r} is not an amount")
    return value


def seconds(duration: Any) -> float:
    """The length of a Mesos duration, or a point in time, which are whole nanoseconds."""
    value = duration["nanoseconds"]
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{value!r} in place of nanoseconds")
    return value / 1e9


def whole(value: Any) -> int:
    if number(value) != int(value):
        raise ValueError(f"{value!r} in place of a whole number")
    return int(value)
