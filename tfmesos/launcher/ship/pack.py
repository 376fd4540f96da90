"""A tree as it is sent: a manifest, and a file with each content once.

``node/task/unpack.py`` describes both. The same tree makes the same pack, byte for byte.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from ...errors import CannotRead, CannotWrite
from ...json_types import Json
from ...shared import stdlib
from .tree import Stopped, Tree

AT_ONCE = 256 * 1024  # bytes that are read at once
SAMPLE = 64 * 1024  # bytes of a file that tell whether it is worth deflating
LEVEL = 1  # of zlib: the others take longer than they save


class TooLarge(Exception):
    """The pack would be larger than is allowed."""


class Pack:
    """Owns the file with its contents."""

    def __init__(self, manifest: bytes, contents: BinaryIO) -> None:
        self.manifest = manifest
        self._contents = contents
        self.size = len(manifest) + contents.seek(0, os.SEEK_END)

    def describe(self) -> Json:
        """What a runner must know before the first byte arrives."""
        digest = hashlib.sha256(self.manifest).hexdigest()
        return {"size": self.size, "manifest": len(self.manifest), "sha256": digest}

    def read(self, at: int, size: int) -> bytes:
        """At most *size* bytes of it, from *at*; none at its end."""
        inner = at - len(self.manifest)
        if inner < 0:
            return self.manifest[at : at + size]
        self._contents.seek(inner)
        return self._contents.read(size)

    def close(self) -> None:
        self._contents.close()


class Packer:
    """Writes the contents of a tree into *contents*, and no more than *limit* bytes."""

    def __init__(
        self,
        contents: BinaryIO,
        limit: int,
        is_deflated: bool,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._contents = contents
        self._limit = limit
        self._is_deflated = is_deflated
        self._is_stopped = is_stopped
        self._entries: dict[str, list[Any]] = {}  # by hash: size, deflated size, paths

    def pack(self, tree: Tree) -> Pack:
        """Raises CannotRead, CannotWrite, TooLarge or Stopped."""
        for name in sorted(tree.files):
            path, found = tree.files[name]
            try:
                self._add(name, path, found)
            except OSError as error:
                raise CannotRead(f"{path} cannot be read: {error.strerror}") from error
        manifest = {
            "directories": sorted(tree.directories.items()),
            "contents": [[digest, *entry] for digest, entry in self._entries.items()],
            "links": sorted(tree.links.items()),
        }
        return Pack(stdlib.dumps(manifest).encode("ascii"), self._contents)

    def _add(self, name: str, path: str, found: os.stat_result) -> None:
        start = self._contents.tell()
        with _opened(path) as file:
            digest, is_deflated = self._copy(file)
            if _identity(os.fstat(file.fileno())) != _identity(found):
                problem = f"{path} changed while it was packed: try again, or leave it out"
                raise CannotRead(f"{problem} with .tfignore")
        deflated = self._contents.tell() - start if is_deflated else None
        if digest in self._entries:  # there is one like it already
            self._contents.seek(start)
            self._contents.truncate()
        entry = self._entries.setdefault(digest, [found.st_size, deflated, []])
        entry[-1].append([name, found.st_mode & 0o777])

    def _copy(self, file: BinaryIO) -> tuple[str, bool]:
        """Returns the hash of the content, and whether it was deflated."""
        digest = hashlib.sha256()
        data = file.read(AT_ONCE)
        deflate = zlib.compressobj(LEVEL) if self._is_deflated and _shrinks(data) else None
        while data:
            digest.update(data)
            self._write(deflate.compress(data) if deflate else data)
            data = file.read(AT_ONCE)
        if deflate:
            self._write(deflate.flush())
        return digest.hexdigest(), deflate is not None

    def _write(self, data: bytes) -> None:
        if self._is_stopped():
            raise Stopped
        if self._contents.tell() + len(data) > self._limit:
            raise TooLarge
        try:
            self._contents.write(data)
        except OSError as error:
            raise CannotWrite(f"no room here for the shipped files: {error.strerror}") from error


def _opened(path: str) -> BinaryIO:
    """Something other than a file may have replaced it meanwhile: a pipe would never end."""
    flags = os.O_RDONLY | os.O_NONBLOCK
    return open(path, "rb", buffering=0, opener=lambda path, _: os.open(path, flags))


def _identity(found: os.stat_result) -> tuple[int, ...]:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _shrinks(data: bytes) -> bool:
    """Does it shrink by at least a tenth, which is worth the time?"""
    sample = data[:SAMPLE]
    return len(zlib.compress(sample, LEVEL)) < 0.9 * len(sample)
