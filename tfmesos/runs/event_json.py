"""Events as JSON, and back: a run is replayed from these, so nothing may be lost on the way.

``{"is": "core.events.TaskReady", ...}`` is a record of ours, ``{"error": ...}`` an error,
``{"json": ...}`` is JSON as it came, ``{"set": ...}`` a set; a list stands for a tuple.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from ..config.secret import Secret
from ..errors import TFMesosError
from ..json_types import Json
from ..record import Record

_PACKAGE = __package__.rpartition(".")[0] + "."
_PLAIN = (str, int, float, bool, type(None))  # most values, so they are looked at first
_encode = json.JSONEncoder(ensure_ascii=False).encode


def json_line(value: Any) -> bytes:
    """JSON in one line of a file."""
    return _encode(value).encode("utf-8", "backslashreplace") + b"\n"


def to_json(value: Any) -> Any:
    if type(value) in _PLAIN:
        return value
    match value:
        case Secret():
            return "(secret)"
        case Record():
            return _labelled(value, value._values())
        case TFMesosError():
            return {"error": _name(type(value)), "text": str(value), "code": value.exit_code}
        case Mapping():
            return {"json": dict(value)}
        case tuple() if hasattr(value, "_asdict"):
            return _labelled(value, value._asdict())
        case frozenset():
            return {"set": [to_json(one) for one in sorted(value)]}
        case tuple() | list():
            return [to_json(one) for one in value]
    return value


def _labelled(value: Any, fields: Mapping[str, Any]) -> Json:
    return {"is": _name(type(value)), **{name: to_json(one) for name, one in fields.items()}}


def _name(kind: type) -> str:
    return f"{kind.__module__.removeprefix(_PACKAGE)}.{kind.__qualname__}"


def from_json(value: Any) -> Any:
    """The inverse of ``to_json``. Raises ValueError if *value* is not valid."""
    match value:
        case {"is": str(name), **fields}:
            named = {str(key): from_json(one) for key, one in fields.items()}
            return _kind(name, Record, tuple)(**named)
        case {"json": raw}:
            return raw
        case {"set": list(members)}:
            return frozenset(from_json(members))
        case {"error": str(name), "text": str(text), "code": int(code)}:
            return _error(_kind(name, TFMesosError), text, code)
        case list():
            return tuple(from_json(one) for one in value)
        case dict():
            raise ValueError(f"not a value of a run: {value!r}")
    return value


def _kind(name: str, *bases: type) -> Any:
    """One of our classes, by its name; nothing else is ever called."""
    module, _, kind = name.rpartition(".")
    try:
        found = getattr(import_module(_PACKAGE + module), kind)
    except (ImportError, AttributeError, ValueError):
        found = None
    if not isinstance(found, type) or not issubclass(found, bases):
        raise ValueError(f"no kind of value of a run: {name!r}")
    return found


def _error(kind: type[TFMesosError], text: str, code: int) -> TFMesosError:
    error = kind.__new__(kind)
    Exception.__init__(error, text)
    error.exit_code = code
    return error
