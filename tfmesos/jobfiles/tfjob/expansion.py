"""``$(NAME)`` in commands and values of variables, as Kubernetes fills it in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...config.exec_limits import MAX_STRING

_REFERENCE = re.compile(r"\$(\$|\(([^)]*)\))")
_TO_ESCAPE = re.compile(r"\$+\(|\$\$+")


class TooLong(Exception):
    """A few variables that refer to each other can expand to any number of bytes."""

    def __init__(self) -> None:
        super().__init__(f"is longer than {MAX_STRING:,} bytes once its $(NAME) are filled in")


def expanded(text: str, values: Mapping[str, str]) -> str:
    """``$$`` is a ``$``; an unknown name stays as it is. Raises TooLong."""
    parts, size, done = [], 0, 0
    for found in _REFERENCE.finditer(text):
        parts += [text[done : found.start()], _filled(found, values)]
        size, done = size + len(parts[-1]), found.end()
        if size > MAX_STRING:
            raise TooLong
    return "".join([*parts, text[done:]])


def _filled(found: re.Match[str], values: Mapping[str, str]) -> str:
    return "$" if found[1] == "$" else values.get(found[2], found[0])


def references(text: str) -> set[str]:
    return {found[2] for found in _REFERENCE.finditer(text) if found[2] is not None}


def escaped(text: str) -> str:
    """The text that ``expanded`` turns into *text*; the ``$`` of a shell is left alone."""
    return _TO_ESCAPE.sub(lambda found: found[0].replace("$", "$$"), text)
