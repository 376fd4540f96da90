"""``$(NAME)`` in commands and values of variables, as Kubernetes fills it in."""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(\$|\(([^)]*)\))")
_TO_ESCAPE = re.compile(r"\$+\(|\$\$+")


def expanded(text: str, values: Mapping[str, str]) -> str:
    """``$$`` is a ``$``; a name that is not known stays as it is."""
    return _REFERENCE.sub(lambda found: _filled(found, values), text)


def _filled(found: re.Match[str], values: Mapping[str, str]) -> str:
    return "$" if found[1] == "$" else values.get(found[2], found[0])


def references(text: str) -> set[str]:
    return {found[2] for found in _REFERENCE.finditer(text) if found[2] is not None}


def escaped(text: str) -> str:
    """What ``expanded`` makes *text* of; the ``$`` of a shell is left alone."""
    return _TO_ESCAPE.sub(lambda found: found[0].replace("$", "$$"), text)
