"""Unpacks an untrusted zip or tar: only inside its directory, and without filling the disk.

Links are made last, and none behind another, so nothing is written through one; then each of them
must lead to a path below the directory.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple

from .tree import MAX_DEPTH, Stopped

MAX_BYTES = 512 * 1024 * 1024  # unpacked, whatever the archive says
MAX_MEMBERS = 100_000
MAX_HEADER = 1024 * 1024  # bytes of all that a tar says before the content of a member
MAX_DIRECTORY = 64 * 1024 * 1024  # bytes of the list in a zip
AT_ONCE = 256 * 1024  # bytes that are copied at once

_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
_BROKEN = (
    *(OSError, EOFError, ValueError, RuntimeError),  # the last one: a zip with a password
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError),
)


class BadArchive(Exception):
    """Why it is not unpacked, as a phrase that follows its name."""


class _Member(NamedTuple):
    name: str
    mode: int  # with the kind of file, as in st_mode
    content: IO[bytes] | None = None
    target: str = ""  # of a link


def unpack(file: IO[bytes], directory: str, is_stopped: Callable[[], bool] = lambda: False) -> bool:
    """Unpack the archive *file* into *directory*.

    False if it is not an archive. Raises BadArchive, and Stopped if it is given up.
    """
    members = _members(file)
    if members is None:
        return False
    try:
        _Unpacker(directory, is_stopped).unpack(members)
    except _BROKEN as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise BadArchive(f"cannot be unpacked: {why}") from None
    return True


def _members(file: IO[bytes]) -> Iterator[_Member] | None:
    file.seek(0)
    start = file.read(512)
    file.seek(0)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _of_zip(file)
    if start[:2] in _OPENERS:
        return _of_tar(_OPENERS[start[:2]](file))
    return _of_tar(file) if start[257:262] == b"ustar" else None


def _of_zip(file: IO[bytes]) -> Iterator[_Member]:
    listed: Any = _Listed(file)
    with zipfile.ZipFile(listed) as archive:
        for info in archive.infolist():
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise BadArchive(f"holds {info.filename!r}, which is not compressed with deflate")
            mode = info.external_attr >> 16
            kind = stat.S_IFMT(mode) or (stat.S_IFDIR if info.is_dir() else stat.S_IFREG)
            with archive.open(info) as content:
                is_link = kind == stat.S_IFLNK
                target = content.read(4096).decode("utf-8", "surrogateescape") if is_link else ""
                yield _Member(info.filename, kind | stat.S_IMODE(mode), content, target)


def _of_tar(file: IO[bytes]) -> Iterator[_Member]:
    kinds = {tarfile.DIRTYPE: stat.S_IFDIR, tarfile.SYMTYPE: stat.S_IFLNK}
    kinds |= dict.fromkeys(tarfile.REGULAR_TYPES, stat.S_IFREG)
    limited: Any = _Limited(file)
    with tarfile.open(fileobj=limited, mode="r|") as archive:
        for info in archive:
            limited.is_in_header = False
            content = archive.extractfile(info) if info.isreg() else None
            mode = kinds.get(info.type, 0) | stat.S_IMODE(info.mode)
            yield _Member(info.name, mode, content, info.linkname)
            limited.begin_header()


class _Limited:
    """The file that a tar reads, with a limit: a header may claim any length."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MAX_BYTES + MAX_MEMBERS * 1024
        self.begin_header()

    def begin_header(self) -> None:
        self.is_in_header = True
        self._left_of_header = MAX_HEADER

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise BadArchive(_too_large())
        if self.is_in_header:
            self._left_of_header -= size
            if self._left_of_header < 0:
                raise BadArchive(f"has a header of more than {MAX_HEADER:,} bytes")
        return self._file.read(size)


class _Listed:
    """The file that a zip reads: the list of its members is read in one piece at first.

    Each of them takes a kilobyte of memory, and 46 bytes in the list.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > MAX_DIRECTORY:
            raise BadArchive(f"has a directory of more than {MAX_DIRECTORY // 2**20} MiB")
        data = self._file.read(size)
        if data.count(b"PK\1\2") > MAX_MEMBERS:
            raise _too_many()
        return data


class _Unpacker:
    def __init__(self, directory: str, is_stopped: Callable[[], bool]) -> None:
        self._root = os.path.realpath(directory)
        self._is_stopped = is_stopped
        self._room = MAX_BYTES
        self._count = 0
        self._links: dict[str, str] = {}  # path -> target

    def unpack(self, members: Iterator[_Member]) -> None:
        for member in members:
            self._count += 1
            if self._count > MAX_MEMBERS:
                raise _too_many()
            self._add(member, self._place(member.name))
        self._make_links()

    def _place(self, name: str) -> str:
        parts = name.split("/")
        if name.startswith("/") or ".." in parts or "\\" in name or "\0" in name:
            raise BadArchive(f"contains {name!r}, which points outside its directory")
        if len(parts) > MAX_DEPTH:
            raise BadArchive(
                f"holds {parts[0]!r}, with directories nested more than {MAX_DEPTH} levels deep"
            )
        return os.path.normpath(os.path.join(self._root, *parts))

    def _add(self, member: _Member, place: str) -> None:
        self._go_on()
        if stat.S_ISDIR(member.mode):
            os.makedirs(place, exist_ok=True)
        elif stat.S_ISLNK(member.mode):
            self._links[place] = member.target
        elif stat.S_ISREG(member.mode) and member.content is not None:
            self._write(member, place, member.content)
        else:
            raise BadArchive(
                f"holds {member.name!r}, which is not a file, directory or symbolic link"
            )

    def _go_on(self) -> None:
        if self._is_stopped():
            raise Stopped

    def _write(self, member: _Member, place: str, content: IO[bytes]) -> None:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "xb") as file:
            while data := content.read(AT_ONCE):
                self._room -= len(data)
                if self._room < 0:
                    raise BadArchive(_too_large())
                self._go_on()
                file.write(data)
            os.fchmod(file.fileno(), 0o755 if member.mode & 0o111 else 0o644)

    def _make_links(self) -> None:
        for place, target in self._links.items():
            parent = os.path.dirname(place)
            if os.path.lexists(place) or os.path.isabs(target):
                self._refuse_outside(place, os.path.join(parent, target))
                raise BadArchive(f"holds {self._name(place)!r} twice, once as a link")
            if os.path.realpath(parent) != parent:
                raise BadArchive(f"holds {self._name(place)!r}, which is behind a link")
            os.makedirs(parent, exist_ok=True)
            os.symlink(target, place)
        for place in self._links:
            self._refuse_outside(place, place)

    def _refuse_outside(self, link: str, path: str) -> None:
        """An absolute target counts as outside: it leads elsewhere on a node."""
        target, end = self._links[link], os.path.realpath(path)
        if os.path.isabs(target) or os.path.commonpath([end, self._root]) != self._root:
            name = self._name(link)
            raise BadArchive(f"contains the link {name!r}, which points outside it, to {target!r}")

    def _name(self, place: str) -> str:
        return os.path.relpath(place, self._root)


def _too_many() -> BadArchive:
    return BadArchive(f"contains more than {MAX_MEMBERS:,} files")


def _too_large() -> str:
    return f"is larger than {MAX_BYTES // 2**20} MiB unpacked"
