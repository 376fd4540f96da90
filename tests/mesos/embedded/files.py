"""What tasks have in their sandboxes, as the files API of an agent shows it.

A task may put anything there: a link to a file that only we can read, a pipe that nobody
writes to. So nothing but directories and plain files is opened, and no link is followed.
"""

from __future__ import annotations

import grp
import os
import pwd
import re
import stat
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tfmesos.http.server import Answer, Request, text
from tfmesos.json_types import Json

from .answers import as_json

MAX_READ = 64 * 1024  # bytes of one answer to read, and of one piece of a download
MAX_ENTRIES = 10_000  # of a directory
_VIRTUAL = re.compile(r"/frameworks/([^/]+)/executors/([^/]+)/runs/latest(?:/(.*))?", re.S)

# Where the newest task of a framework (its id) of that id has its sandbox.
Find = Callable[[str, str], Path | None]


class Refused(Exception):
    """Status and words of the answer."""


class Files:
    def __init__(self, find: Find, find_at: Callable[[str], Path | None]) -> None:
        """*find_at* tells the sandbox that a path lies in."""
        self._find, self._find_at = find, find_at

    async def answer(self, request: Request) -> Answer:
        """To browse, read or download, whichever the path of the request ends with."""
        try:
            with self._opened(request.query.get("path")) as file:
                match request.path.rpartition("/")[2]:
                    case "browse":
                        return _browse(file, request.query["path"])
                    case "read":
                        return _read(file, request)
                    case _:
                        return self._download(file, request.query["path"])
        except Refused as refused:
            return text(*refused.args)

    def _download(self, file: int, path: str) -> Answer:
        """As much as there is now; a task that goes on writing must not make it endless."""
        size = _size(file, "download")
        headers = {
            "Content-Length": str(size),
            "Content-Disposition": f"attachment; filename={quote(path.rpartition('/')[2])}",
            "Content-Type": "application/octet-stream",
        }
        return Answer(200, self._pieces(path, size), headers)

    async def _pieces(self, path: str, left: int) -> AsyncGenerator[bytes, None]:
        """Fewer than promised if the file was cut meanwhile, and then so is the answer."""
        with suppress(Refused), self._opened(path) as file:
            while left and (data := os.read(file, min(left, MAX_READ))):
                yield data
                left -= len(data)

    @contextmanager
    def _opened(self, path: str | None) -> Iterator[int]:
        if path is None:
            raise Refused(400, "Expecting 'path=value' in query.\n")
        try:
            file = _open(*self._resolved(path))
        except (OSError, ValueError) as error:  # ValueError: a NUL in it
            raise Refused(404, "") from error
        try:
            yield file
        finally:
            os.close(file)

    def _resolved(self, path: str) -> tuple[Path, list[str]]:
        """The sandbox and the names within, of a virtual path or of one that /state tells."""
        found = _VIRTUAL.fullmatch(path)
        sandbox = self._find(found[1], found[2]) if found else self._find_at(path)
        if sandbox is None:
            raise Refused(404, "")
        rest = (found[3] or "") if found else path.removeprefix(str(sandbox))
        names = [name for name in rest.split("/") if name]
        if {".", ".."} & set(names):
            raise Refused(404, "")
        return sandbox, names


def _open(sandbox: Path, names: list[str]) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(sandbox, flags)
    for name in names:
        parent = file
        try:
            file = os.open(name, flags, dir_fd=parent)
        finally:
            os.close(parent)
    return file


def _browse(directory: int, path: str) -> Answer:
    if not stat.S_ISDIR(os.fstat(directory).st_mode):
        raise Refused(404, "")
    with os.scandir(directory) as entries:
        listed = {
            entry.name: entry.stat(follow_symlinks=False) for entry in islice(entries, MAX_ENTRIES)
        }
    return as_json([_entry(f"{path.rstrip('/')}/{name}", listed[name]) for name in sorted(listed)])


def _entry(path: str, found: os.stat_result) -> Json:
    return {
        "gid": _name(grp.getgrgid, found.st_gid),
        "mode": stat.filemode(found.st_mode),
        "mtime": float(int(found.st_mtime)),
        "nlink": found.st_nlink,
        "path": path,
        "size": found.st_size,
        "uid": _name(pwd.getpwuid, found.st_uid),
    }


def _name(look_up: Callable[[int], Sequence[Any]], number: int) -> str:
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)


def _size(file: int, verb: str) -> int:
    found = os.fstat(file)
    if stat.S_ISDIR(found.st_mode):
        raise Refused(400, f"Cannot {verb} a directory.\n")
    if not stat.S_ISREG(found.st_mode):
        raise Refused(404, "")
    return found.st_size


def _read(file: int, request: Request) -> Answer:
    size = _size(file, "read")
    offset, length = (_number(request.query.get(name)) for name in ("offset", "length"))
    if offset < 0:
        return as_json({"data": "", "offset": size})
    wanted = min(length, MAX_READ) if length >= 0 else MAX_READ
    data = os.pread(file, wanted, min(offset, size))
    return as_json({"data": data.decode(errors="replace"), "offset": offset})


def _number(words: str | None) -> int:
    return int(words) if words and words.isascii() and words.isdigit() and len(words) < 19 else -1
