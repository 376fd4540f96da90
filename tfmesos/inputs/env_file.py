"""Variables from a file: a line for each, KEY=VALUE, taken as it is; # begins a comment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..errors import SpecError
from .named_file import content_of

_LARGEST = 1024 * 1024  # bytes
_LINE = re.compile(r"\s*([A-Za-z_]\w*)=(.*)", re.A)


def read_variables(path: str | None) -> dict[str, str]:
    """SpecError with the line that is wrong, but not with its text: it may hold a secret."""
    if path is None:
        return {}
    content = content_of("env_file", path, _LARGEST + 1)
    if len(content) > _LARGEST or b"\0" in content:
        raise SpecError(None, "env_file", f"must be a text of at most {_LARGEST:,} bytes: {path}")
    return dict(_parsed(path, content.decode(errors="surrogateescape")))


def _parsed(path: str, text: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line.removesuffix("\r"))
        if found is None:
            raise SpecError(None, "env_file", f"must have KEY=VALUE in each line: {path}:{number}")
        yield found[1], found[2]
