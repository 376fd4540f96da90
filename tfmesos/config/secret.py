"""A text that must not be seen: no report, log or traceback shows it by accident."""

from __future__ import annotations

import re


class Secret:
    """Holds a text until the last moment, when ``reveal`` gives it to whoever sends it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "(a secret)"

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, Secret) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)


def without_password(text: str) -> str:
    """The text with ``***`` for the credentials of addresses such as zk://USER:PASSWORD@HOST."""
    return re.sub(r"://\S*@", "://***@", text)
