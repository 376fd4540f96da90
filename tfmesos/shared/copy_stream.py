"""Files and directories as a stream of bytes, and back; both ends of ``tfrun cp`` use it.

A line of JSON comes before each: its path below the first one, which has none; its kind, mode,
size and time. The content of a file follows its line. Links are sent as links, and made last if
they stay inside, so nothing is ever written through one. All is made under another name, in the
same directory, and gets its own name when it is whole.
"""

from __future__ import annotations

import json
import os
import shutil
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PIECE = 32 * 1024  # bytes
LONGEST_LINE = 64 * 1024  # bytes
DAMAGED = "it did not come as it was sent"


class CannotCopy(Exception):
    """The reason, for whoever asked."""


def sent(path: str) -> Iterator[bytes]:
    """What is at *path*, and below. Raises CannotCopy or OSError."""
    found = os.stat(path)  # to follow a link that somebody named is what they want
    if stat.S_ISDIR(found.st_mode):
        yield _line("", "directory", found)
        yield from _below(path, "")
    else:
        yield from _file(path, "", os.path.realpath(path))


def content(path: str) -> Iterator[bytes]:
    """Of a file alone."""
    lines = _file(path, "", os.path.realpath(path))
    next(lines)
    yield from lines


def _below(path: str, before: str) -> Iterator[bytes]:
    with os.scandir(path) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        name = before + entry.name
        if entry.is_symlink():
            yield _line(name, "link", target=os.readlink(entry.path))
        elif entry.is_dir(follow_symlinks=False):
            yield _line(name, "directory", entry.stat(follow_symlinks=False))
            yield from _below(entry.path, f"{name}/")
        elif entry.is_file(follow_symlinks=False):
            yield from _file(entry.path, name, entry.path)
        else:
            yield _line(name, "other")


def _file(path: str, name: str, real: str) -> Iterator[bytes]:
    """As many bytes as it had when it was opened: somebody may be writing to it."""
    opened = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise CannotCopy(f"{path} is neither a file nor a directory")
        yield _line(name, "file", found)
        left = found.st_size
        while left:
            data = os.read(opened, min(PIECE, left))
            if not data:
                raise CannotCopy(f"{path} became shorter while it was copied")
            left -= len(data)
            yield data
    finally:
        os.close(opened)


def _line(path: str, kind: str, found: os.stat_result | None = None, target: str = "") -> bytes:
    about: dict[str, Any] = {"path": path, "kind": kind, "target": target}
    if found is not None:
        about.update(mode=stat.S_IMODE(found.st_mode) & 0o777, time=found.st_mtime_ns)
        about["size"] = found.st_size if kind == "file" else 0
    return json.dumps(about).encode("ascii") + b"\n"


class Received:
    """Makes what comes at *place*, all or nothing: ``finish`` or ``abandon``.

    Without *lines* it is the content of one file. ``size`` bytes of content have come.
    """

    def __init__(self, place: str, lines: bool = True) -> None:
        directory, name = os.path.split(os.path.abspath(place))
        self._place = place
        self._coming = os.path.join(directory, f".{name[:200]}.tfrun-{os.urandom(4).hex()}")
        self._line = bytearray()
        self._missing = 0  # bytes of the file that comes
        self._file = -1
        self._about: dict[str, Any] = {}
        self._made: list[tuple[str, int, int]] = []  # directories with their modes and times
        self._links: list[tuple[str, str]] = []
        self._has_lines = lines
        self._is_begun = False
        self.size = 0
        self.left_out: list[str] = []  # what is neither, and links that lead out
        if not lines:
            self._open("", 0o666 & ~_umask())

    def feed(self, data: bytes) -> None:
        """Raises CannotCopy or OSError; ``abandon`` it then."""
        view = memoryview(data)
        while len(view):
            if not self._has_lines or self._missing:
                view = self._write(view)
            else:
                view = self._read_line(view)

    def _write(self, view: memoryview) -> memoryview:
        ours = view[: self._missing] if self._has_lines else view
        rest = view[len(ours) :]
        self._missing -= len(ours) if self._has_lines else 0
        self.size += len(ours)
        while len(ours):
            ours = ours[self._write_some(ours) :]
        if self._has_lines and not self._missing:
            self._close()
        return rest

    def _write_some(self, data: memoryview) -> int:
        try:
            return os.write(self._file, data)
        except OSError as error:  # which names no file by itself
            raise OSError(error.errno, error.strerror, self._place) from None

    def _read_line(self, view: memoryview) -> memoryview:
        part, end, _ = bytes(view).partition(b"\n")
        self._line += part
        if len(self._line) > LONGEST_LINE:
            raise CannotCopy(DAMAGED)
        if end:
            line = bytes(self._line)
            self._line.clear()
            self._begin(line)
        return view[len(part) + len(end) :]

    def _begin(self, line: bytes) -> None:
        """Of the next file, directory or link."""
        try:
            about = json.loads(line)
            path, kind, target = about["path"], str(about["kind"]), str(about["target"])
            mode, size = int(about.get("mode", 0)) & 0o777, int(about.get("size", 0))
            time = int(about.get("time", 0))
            is_good = isinstance(path, str) and (is_inside(path) or (not path and not self._made))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise CannotCopy(DAMAGED) from None
        if not is_good or size < 0 or (bool(path) != self._is_begun):
            raise CannotCopy(DAMAGED)
        self._is_begun = True
        self._about = {"mode": mode, "time": time}
        if kind == "directory":
            os.mkdir(self._at(path), 0o700)
            self._made.append((self._at(path), mode, time))
        elif kind == "file":
            self._open(path, 0o600)
            self._missing = size
            if not size:
                self._close()
        elif kind == "link" and stays_inside(path, target):
            self._links.append((self._at(path), target))
        else:
            self.left_out.append(path)

    def _at(self, path: str) -> str:
        return os.path.join(self._coming, path) if path else self._coming

    def _open(self, path: str, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.open(self._at(path), flags, mode)

    def _close(self) -> None:
        if self._about:
            os.fchmod(self._file, self._about["mode"])
            os.utime(self._file, ns=(self._about["time"], self._about["time"]))
        os.close(self._file)
        self._file = -1

    def finish(self) -> None:
        """It is whole: give it its name."""
        if self._missing or self._line or (self._has_lines and not self._is_begun):
            raise CannotCopy(DAMAGED)
        if self._file >= 0:
            self._close()
        for path, target in self._links:
            os.symlink(target, path)
        for path, mode, time in reversed(self._made):
            os.utime(path, ns=(time, time))
            os.chmod(path, mode)
        if self._made and os.path.lexists(self._place):
            raise CannotCopy(f"{self._place} exists")
        os.rename(self._coming, self._place)

    def abandon(self) -> None:
        """Leave nothing of it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        for path, _, _ in self._made:
            try:
                os.chmod(path, 0o700)
            except OSError:
                pass
        if self._made:
            shutil.rmtree(self._coming, ignore_errors=True)
        else:
            try:
                os.unlink(self._coming)
            except OSError:
                pass


def is_inside(path: str) -> bool:
    return "\0" not in path and not {"", ".", ".."}.intersection(path.split("/"))


def stays_inside(path: str, target: str) -> bool:
    """Does a link at *path* lead to a place below the first directory, by its words alone?"""
    place = os.path.normpath(os.path.join(os.path.dirname(path), target))
    is_plain = bool(target) and "\0" not in target and target == os.path.normpath(target)
    return bool(path) and is_plain and place[:1] != "/" and place.split("/")[0] != ".."


def destination(place: str, name: str) -> str:
    """Where something called *name* goes that is copied to *place*."""
    if os.path.isdir(place) or place.endswith("/"):
        return os.path.join(place, name)
    return place


def in_words(error: Exception) -> str:
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else ""
        return f"{where}{error.strerror}"
    return str(error)


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask
