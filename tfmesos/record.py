"""Frozen values: what ``@dataclass(frozen=True, slots=True)`` gives, made in a tenth of the time.

A dataclass compiles its methods again for every class, and that takes half a millisecond. We
have dozens of them, and they all stand between the user and the first task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Self, dataclass_transform

from .text import suggestion

NOTHING: Mapping[Any, Any] = MappingProxyType({})  # a default, for it cannot be changed


@dataclass_transform(frozen_default=True)
class _Frozen(type):
    """Turns the annotations of a class into slots, and remembers the defaults beside them."""

    __match_args__: tuple[str, ...]
    _defaults: dict[str, Any]
    _contents: Callable[[Any], tuple[Any, ...]]  # the values of the fields, in their order

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> _Frozen:
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        body.update(__slots__=fields, __match_args__=fields, _defaults=defaults)
        body["_contents"] = _reader(fields)
        return super().__new__(cls, name, bases, body)


def _reader(fields: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """``attrgetter`` reads several fields at once; of one it gives the bare value."""
    if len(fields) > 1:
        return attrgetter(*fields)
    return lambda record: tuple(getattr(record, field) for field in fields)


class Record(metaclass=_Frozen):
    """A value with the annotated fields of its class (of that one, not of its bases).

    It takes them by position or by name, is compared and hashed by what it holds, and
    ``__post_init__`` may check it.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        fields = type(self).__match_args__
        values = dict(zip(fields, args, strict=False))
        if named or len(args) != len(fields):
            given = values
            values = {**type(self)._defaults, **given, **named}
            if len(args) > len(fields) or given.keys() & named or values.keys() != set(fields):
                raise TypeError(self._complaint(args, named))
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def _complaint(self, args: tuple[Any, ...], named: Mapping[str, Any]) -> str:
        fields = type(self).__match_args__
        given = {*fields[: len(args)], *named, *type(self)._defaults}
        wrong = [f"not {name}{suggestion(name, fields)}" for name in named if name not in fields]
        wrong += [f"{name} is missing" for name in fields if name not in given]
        wrong += [f"{name} is given twice" for name in fields[: len(args)] if name in named]
        first, *_ = [*wrong, f"{len(args)} values are too many"]
        return f"{type(self).__name__} takes {', '.join(fields)}; {first}"

    def __post_init__(self) -> None:
        """For the checks of a class of its own."""

    def replace(self, **changes: Any) -> Self:
        """The same value except for these fields."""
        return type(self)(**{**self._values(), **changes})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: cannot delete {name}")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        contents = type(self)._contents
        return contents(self) == contents(other)

    def __hash__(self) -> int:
        return hash((type(self), *type(self)._contents(self)))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self._values().items())
        return f"{type(self).__qualname__}({shown})"

    def _values(self) -> dict[str, Any]:
        kind = type(self)
        return dict(zip(kind.__match_args__, kind._contents(self), strict=True))
