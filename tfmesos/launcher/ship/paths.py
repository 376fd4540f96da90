"""The files to ship, as they were given: paths, completed and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from ...config.secret import without_password
from ...config.ship_settings import Ship, parse_ship_files
from ...errors import SpecError, UnreadableFile

_WITH_USER = re.compile(r"://[^/?#]*@")


def ship_of(given: Mapping[str, Any]) -> Ship | None:
    """The files that the settings name; SpecError if one does not exist."""
    files = parse_ship_files(given["ship_files"])
    address = _address(given["ship"])
    directory = None if address else _directory(given["ship"])
    if not address and directory is None and not files:
        return None
    for field, place in (("ship", address or ""), *(("ship_files", local) for local, _ in files)):
        _refuse_password(field, place)
    for local, _ in files:
        if "://" not in local and not os.path.isfile(local):
            what = "is a directory: use ship for it" if os.path.isdir(local) else "is not a file"
            raise _wrong("ship_files", local, what)
    limit = int(given["ship_limit"] * 1024 * 1024)
    whole = tuple((_whole(local), name) for local, name in files)
    return Ship(directory, whole, limit, address)


def _address(given: Any) -> str | None:
    """The address of something to fetch and unpack, if it is one."""
    text = os.fspath(given) if given and given is not True else ""
    return _whole(text) if "://" in text or os.path.isfile(text) else None


def _refuse_password(field: str, place: str) -> None:
    if _WITH_USER.search(place):
        problem = "must not contain a user or password, which everybody could read"
        raise SpecError(None, field, f"{problem}: {without_password(place)}")


def _whole(place: str) -> str:
    return place if "://" in place else os.path.abspath(place)


def _directory(given: Any) -> str | None:
    if given is None or given is False:
        return None
    directory = "." if given is True else os.fspath(given)
    if not os.path.isdir(directory):
        raise _wrong("ship", directory, "is not a directory")
    try:
        return os.path.abspath(directory)
    except FileNotFoundError:
        problem = "cannot be read: the current directory no longer exists"
        raise UnreadableFile(None, "ship", problem) from None


def _wrong(field: str, path: str, what: str) -> SpecError:
    if os.path.exists(path):
        return SpecError(None, field, f"{path!r} {what}")
    return UnreadableFile(None, field, f"{path!r} does not exist")
