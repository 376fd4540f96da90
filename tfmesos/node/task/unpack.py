"""A pack as it arrives: bytes in, files in a directory out.

A pack is a manifest and the contents of files, each content once, one behind the other. The
manifest is JSON, and its hash comes before it, from the launcher:

    directories  [[path, mode], ...], each after the one it is in
    contents     [[sha256, size, deflated size or null, [[path, mode], ...]], ...]: in the form of
                 zlib, or as it is
    links        [[path, target], ...]

The launcher makes no pack that leaves its directory (``launcher/ship/pack.py``); here it is checked
all the same. All is made again, and links come last, so nothing is ever written through a link.
"""

from __future__ import annotations

import errno
import os
import stat
import time
import zlib

from ...errors import FrameError
from ...shared import json_reader, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from hashlib import sha256
    from io import FileIO
    from typing import Any

    from ...shared.wire import Message
else:
    try:  # five times as fast as the one in `stdlib`, without all that hashlib loads beside it
        from _hashlib import openssl_sha256 as sha256
    except ImportError:
        from hashlib import sha256

AT_ONCE = 1024 * 1024  # bytes that are inflated, or copied, in one go
DAMAGED = "they arrived damaged"


class Unpacker:
    """Makes *directory* and fills it; ``received`` bytes of the pack have come so far.

    Raises OSError if the node cannot take it and FrameError if it is not what the launcher
    *described*. Call ``remove_all`` then.
    """

    def __init__(
        self,
        directory: str,
        described: Message,
        mode: int = 0o755,
        go_on: Callable[[], None] = lambda: None,
    ) -> None:
        """*go_on* is called again and again: all this may take longer than a heartbeat."""
        self.directory = directory
        self.received = 0
        self._go_on = go_on
        self._size = wire.count(described, "size")
        self._manifest_size = wire.count(described, "manifest")
        self._manifest_hash = wire.field(described, "sha256", str)
        self._manifest = bytearray()
        self._contents: list[_Content] = []  # that have yet to come, the next one last
        self._links: list[tuple[str, str]] = []
        self.is_whole = False
        os.mkdir(directory, mode)
        self._umask = os.umask(0o77)
        os.umask(self._umask)
        self._made_at = time.time_ns()  # on all that is unpacked, to tell it from what is not

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the pack, as many as there are."""
        self.received += len(data)
        if self.received > self._size:
            raise FrameError(DAMAGED)
        view = memoryview(data)
        missing = self._manifest_size - len(self._manifest)
        if missing:
            self._manifest += view[:missing]
            if len(view) < missing:
                return
            self._begin()
        self._fill(view[missing:])

    def _begin(self) -> None:
        """The manifest is complete: check it, and make room."""
        if sha256(self._manifest).hexdigest() != self._manifest_hash:
            raise FrameError(DAMAGED)
        try:
            manifest = json_reader.read(bytes(self._manifest))
            contents = [_Content(self.directory, *entry) for entry in manifest["contents"]]
            directories = [(self._inside(path), int(m)) for path, m in manifest["directories"]]
            places = {"", *(path for path, _ in manifest["directories"])}
            links = [(self._inside(p), _target(p, to, places)) for p, to in manifest["links"]]
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise FrameError(f"their list is malformed: {error}") from None
        self._check_room(sum(content.size * len(content.paths) for content in contents))
        for path, mode in directories:
            self._go_on()
            os.mkdir(path, mode & 0o777 | 0o700)
        self._contents = contents[::-1]
        self._links = links

    def _inside(self, path: str) -> str:
        return _inside(self.directory, path)

    def _check_room(self, needed: int) -> None:
        found = os.statvfs(self.directory)
        free = found.f_bavail * found.f_frsize
        if needed > free:
            room = f"they need {needed / 2**20:,.1f} MB, but only {free / 2**20:,.1f} MB is free"
            raise OSError(errno.ENOSPC, f"no space left on device: {room}")

    def _fill(self, view: memoryview) -> None:
        while self._contents:
            content = self._contents[-1]
            view = content.feed(view)
            if content.missing:
                return
            content.finish(self._made_at, self._umask, self._go_on)
            self._contents.pop().close()
        if len(view) or self.received != self._size:
            raise FrameError(DAMAGED)
        for path, target in self._links:
            self._go_on()
            os.symlink(target, path)
            os.utime(path, ns=(self._made_at, self._made_at), follow_symlinks=False)
        self.is_whole = True

    def remove(self) -> None:
        """Remove what was unpacked; what the command wrote, or wrote into, stays."""
        for path in _below(self.directory):
            self._go_on()
            try:
                found = os.lstat(path)
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(path)
                elif found.st_mtime_ns == self._made_at or _is_cache(path):
                    os.unlink(path)
            except OSError:
                pass  # not empty, or removed by others

    def remove_all(self) -> None:
        import shutil  # is rarely needed, and not cheap

        if self._contents:
            self._contents[-1].close()
        shutil.rmtree(self.directory, ignore_errors=True)


class _Content:
    """The content of one or more files, while it comes: ``missing`` bytes have yet to."""

    def __init__(
        self, directory: str, digest: str, size: int, deflated: int | None, paths: list[list[Any]]
    ) -> None:
        self._digest = str(digest)
        self.size = int(size)
        self.missing = self.size if deflated is None else int(deflated)
        self.paths = [(_inside(directory, path), int(mode) & 0o777) for path, mode in paths]
        if not self.paths or self.size < 0 or self.missing < 0:
            raise ValueError("content without a file")
        self._inflate = None if deflated is None else zlib.decompressobj()
        self._hash = sha256()
        self._written = 0
        self._file: FileIO | None = None

    def feed(self, view: memoryview) -> memoryview:
        """Take what is ours of *view*, and give back the rest."""
        ours, rest = view[: self.missing], view[self.missing :]
        self.missing -= len(ours)
        if self._file is None:
            self._file = _new_file(*self.paths[0])
        for data in [ours] if self._inflate is None else _inflated(self._inflate, ours):
            self._written += len(data)
            if self._written > self.size:
                raise FrameError(DAMAGED)
            self._hash.update(data)
            _write(self._file, data)
        return rest

    def finish(self, made_at: int, umask: int, go_on: Callable[[], None]) -> None:
        """It is here: check it, and give each of its other paths a copy."""
        assert self._file is not None
        if self._written != self.size or self._hash.hexdigest() != self._digest:
            raise FrameError(DAMAGED)
        (first, mode), *others = self.paths
        _finish(self._file, mode, made_at, umask)
        for path, mode in others:
            go_on()
            with open(first, "rb") as source, _new_file(path, mode) as copy:
                while data := source.read(AT_ONCE):
                    _write(copy, data)
                _finish(copy, mode, made_at, umask)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _inside(directory: str, path: str) -> str:
    """*path* below *directory*, or ValueError if it is not there."""
    if "\0" in path or {"", ".", ".."}.intersection(path.split("/")):
        raise ValueError(f"{path!r} is not a path in a directory")
    return os.path.join(directory, path)


def _target(path: str, target: str, directories: set[str]) -> str:
    """*target* of a link at *path*, or ValueError if it may lead out of the directory of all.

    It lies in no link and goes up before it goes down, so its words alone tell where it leads.
    """
    parent = os.path.dirname(path)
    place = os.path.normpath(os.path.join(parent, target))
    is_plain = target == os.path.normpath(target) and "\0" not in target
    if not is_plain or parent not in directories or place[:1] == "/" or place.split("/")[0] == "..":
        raise ValueError(f"{path!r} is a link that may point outside")
    return target


def _inflated(inflate: Any, packed: bytes | memoryview) -> Iterator[bytes]:
    try:
        while packed:
            yield inflate.decompress(packed, AT_ONCE)
            packed = inflate.unconsumed_tail
    except zlib.error:
        raise FrameError(DAMAGED) from None


def _new_file(path: str, mode: int) -> FileIO:
    """Nobody can read it before it is ready who cannot read it then."""
    return open(path, "xb", 0, opener=lambda path, flags: os.open(path, flags, mode | 0o600))


def _write(file: FileIO, data: bytes | memoryview) -> None:
    """All of it, in the end: a file that has no room for all takes a part."""
    while len(data):
        data = data[file.write(data) :]


def _finish(file: FileIO, mode: int, made_at: int, umask: int) -> None:
    os.utime(file.fileno(), ns=(made_at, made_at))
    if (mode | 0o600) & ~umask != mode:
        os.fchmod(file.fileno(), mode)
    file.close()


def _below(directory: str) -> Iterator[str]:
    """All paths below *directory* and itself, what is in a directory before it."""
    for place, directories, names in os.walk(directory, topdown=False):
        for name in directories + names:
            yield os.path.join(place, name)
    yield directory


def _is_cache(path: str) -> bool:
    """Did Python write it when it imported a module?"""
    return os.path.basename(os.path.dirname(path)) == "__pycache__"
