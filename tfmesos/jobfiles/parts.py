"""A part of a foreign document: the keys that are used, and remarks about the others.

Each key is taken, warned of, refused, or unknown: none is ignored silently, except what a server
wrote into the document for itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ..text import shortened, suggestion
from .translation import JobFileError, Key, dotted

_NOTHING_SAID: tuple[Any, ...] = (None, "", False)


class Part:
    def __init__(self, value: Any, key: Key, remarks: list[str]) -> None:
        """A null counts as no value. *remarks* collects the warnings."""
        if not isinstance(value, Mapping):
            raise JobFileError(key, f"must contain keys with values, got {_shown(value)}")
        self.key = key
        self.remarks = remarks
        self._left = {str(name): one for name, one in value.items() if one is not None}
        self._known: list[str] = []

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def __iter__(self) -> Iterator[str]:
        """The keys that have not been read yet."""
        return iter(self._left)

    def key_of(self, name: str | int) -> Key:
        return (*self.key, name)

    def _take(self, name: str, kind: type | tuple[type, ...], words: str) -> Any:
        self._known.append(name)
        value = self._left.pop(name, None)
        is_wrong = isinstance(value, bool) and kind is not bool
        if value is not None and (is_wrong or not isinstance(value, kind)):
            self.fail(name, f"must be {words}, got {_shown(value)}")
        return value

    def text(self, name: str) -> str | None:
        value: str | None = self._take(name, str, "a string")
        return value

    def path(self, name: str) -> str | None:
        """An absolute path, for a mount HOST:CONTAINER."""
        value = self.text(name)
        if value and (not value.startswith("/") or ":" in value):
            self.fail(name, f"must be an absolute path without a colon, got {_shown(value)}")
        return value

    def number(self, name: str) -> float | None:
        value: float | None = self._take(name, (int, float), "a number")
        return value

    def whole(self, name: str) -> int | None:
        value: int | None = self._take(name, int, "a whole number")
        if value is not None and value < 0:
            self.fail(name, f"must not be negative, got {value}")
        return value

    def flag(self, name: str) -> bool:
        return bool(self._take(name, bool, "true or false"))

    def texts(self, name: str) -> list[str] | None:
        value: list[str] | None = self._take(name, list, "a list of strings")
        for index, one in enumerate(value or ()):
            if not isinstance(one, str):
                key = (*self.key, name, index)
                raise JobFileError(key, f"must be a string (quote it), got {_shown(one)}")
        return value

    def numbers(self, name: str) -> list[int]:
        value: list[int] = self._take(name, list, "a list of numbers") or []
        return [one for one in value if isinstance(one, int)]

    def lists(self, name: str) -> list[list[str]]:
        """A list of lists of strings."""
        value: list[Any] = self._take(name, list, "a list of lists") or []
        for index, one in enumerate(value):
            if not isinstance(one, list) or not all(isinstance(word, str) for word in one):
                key = (*self.key, name, index)
                raise JobFileError(key, f"must be a list of strings, got {_shown(one)}")
        return value

    def values(self, name: str) -> dict[str, Any]:
        """A mapping whose keys are names, not known beforehand."""
        value = self._take(name, dict, "keys with values") or {}
        return {str(one): found for one, found in value.items()}

    def part(self, name: str) -> Part:
        """The part below *name*; an empty one if there is none."""
        value = self._take(name, dict, "keys with values") or {}
        return Part(value, self.key_of(name), self.remarks)

    def parts(self, name: str) -> list[Part]:
        items = self._take(name, list, "a list") or []
        return [Part(one, (*self.key, name, n), self.remarks) for n, one in enumerate(items)]

    def warn(self, **reasons: str) -> None:
        """Warn, with the reason, about those of these keys that are there."""
        for name, reason in reasons.items():
            if self._said(name):
                self.remark(name, reason)

    def refuse(self, **reasons: str) -> None:
        """Refuse these keys: the run would not be the one that was meant."""
        for name, reason in reasons.items():
            if self._said(name):
                self.fail(name, reason)

    def drop(self, *names: str) -> None:
        """What a server wrote into the document."""
        for name in names:
            self._left.pop(name, None)

    def _said(self, name: str) -> bool:
        self._known.append(name)
        value = self._left.pop(name, None)
        return value not in _NOTHING_SAID and value not in ([], {})

    def remark(self, name: str | int, reason: str) -> None:
        self.remarks.append(f"{dotted(self.key_of(name))} {reason}")

    def fail(self, name: str | int, problem: str) -> NoReturn:
        raise JobFileError(self.key_of(name), problem)

    def close(self) -> None:
        """All keys that are left are unknown: refuse them."""
        for name in self._left:
            near = suggestion(str(name), self._known)
            raise JobFileError(self.key_of(str(name)), f"is unknown here{near}")


def _shown(value: Any) -> str:
    return shortened(repr(value), 60)
