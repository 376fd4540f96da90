"""What is to be shipped, as it was said: paths, made whole and looked at."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..config.shipping import Ship, parse_ship_files
from ..errors import SpecError


def ship_of(given: Mapping[str, Any]) -> Ship | None:
    """What the settings ask for; SpecError if it is not there."""
    files = parse_ship_files(given["ship_files"])
    directory = _directory(given["ship"])
    if directory is None and not files:
        return None
    for local, _ in files:
        if not os.path.isfile(local):
            what = "is a directory: use ship for it" if os.path.isdir(local) else "is no file"
            raise SpecError(None, "ship_files", f"{local!r} {what}")
    limit = int(given["ship_limit"] * 1024 * 1024)
    return Ship(directory, tuple((os.path.abspath(local), name) for local, name in files), limit)


def _directory(given: Any) -> str | None:
    if given is None or given is False:
        return None
    directory = "." if given is True else os.fspath(given)
    if not os.path.isdir(directory):
        what = "is no directory" if os.path.exists(directory) else "does not exist"
        raise SpecError(None, "ship", f"{directory!r} {what}")
    return os.path.abspath(directory)
