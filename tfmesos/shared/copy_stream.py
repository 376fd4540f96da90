"""Files and directories as a stream of bytes, and back; both ends of ``tfrun cp`` use it.

Each begins with a line of JSON: its path below the first one, which has none; its kind, mode, size
and time. The content of a file follows its line. Links are sent as links, and created last if they
stay inside, so nothing is ever written through one. Everything is written under a temporary name in
the same directory, and renamed when it is complete.
"""

from __future__ import annotations

import json
import os
import shutil
import stat

from . import json_reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PIECE = 32 * 1024  # bytes
LONGEST_LINE = 64 * 1024  # bytes
LONGEST_WITHOUT_SIZE = 16 * 1024 * 1024  # bytes of a file of /proc
DEEPEST = 500  # directories; far more cannot be removed by rmtree
DAMAGED = "it was damaged in transit"


class CannotCopy(Exception):
    """The reason, for the caller."""


def sent(path: str, note_left_out: Callable[[str], object] = str) -> Iterator[bytes]:
    """What is at *path*, and below. Raises CannotCopy or OSError.

    *note_left_out* gets the path of everything that the receiver will leave out.
    """
    found = os.stat(path)  # to follow a link that somebody named is what they want
    if stat.S_ISDIR(found.st_mode):
        yield _line("", "directory", found)
        yield from _below(path, note_left_out)
    elif stat.S_ISREG(found.st_mode):
        yield from _file(path, "", os.path.realpath(path))
    else:  # some of these cannot even be opened
        raise _not_copied(path)


def content(path: str) -> Iterator[bytes]:
    """The content of a single file."""
    lines = _file(path, "", os.path.realpath(path))
    next(lines)
    yield from lines


def _not_copied(path: str) -> CannotCopy:
    return CannotCopy(f"{path} is neither a file nor a directory")


def _below(top: str, note_left_out: Callable[[str], object]) -> Iterator[bytes]:
    """Every directory comes before what is in it."""
    directories = [(top, "")]
    while directories:
        path, before = directories.pop()
        for entry in _entries(path):
            name = before + entry.name
            if entry.is_symlink():
                target = os.readlink(entry.path)
                if not stays_inside(name, target):
                    note_left_out(name)
                yield _line(name, "link", target=target)
            elif entry.is_dir(follow_symlinks=False):
                yield _line(name, "directory", entry.stat(follow_symlinks=False))
                directories.append((entry.path, f"{name}/"))
            elif entry.is_file(follow_symlinks=False):
                yield from _file(entry.path, name, entry.path)
            else:
                note_left_out(name)
                yield _line(name, "other")


def _entries(path: str) -> list[os.DirEntry[str]]:
    with os.scandir(path) as entries:
        return sorted(entries, key=lambda entry: entry.name)


def _file(path: str, name: str, real: str) -> Iterator[bytes]:
    """Sends as many bytes as it had when it was opened: somebody may be writing to it."""
    opened = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise _not_copied(path)
        data = b"" if found.st_size else _without_size(path, opened)
        left = found.st_size
        yield _line(name, "file", found, size=left or len(data))
        for at in range(0, len(data), PIECE):
            yield data[at : at + PIECE]
        while left:
            data = os.read(opened, min(PIECE, left))
            if not data:
                raise CannotCopy(f"{path} shrank while it was being copied")
            left -= len(data)
            yield data
    finally:
        os.close(opened)


def _without_size(path: str, opened: int) -> bytes:
    """The content of an empty file, or of one of /proc, whose size is always 0."""
    data = bytearray()
    while more := os.read(opened, PIECE):
        data += more
        if len(data) > LONGEST_WITHOUT_SIZE:
            raise CannotCopy(f"{path} has no size and is longer than {LONGEST_WITHOUT_SIZE} bytes")
    return bytes(data)


def _line(
    path: str, kind: str, found: os.stat_result | None = None, target: str = "", size: int = 0
) -> bytes:
    about: dict[str, Any] = {"path": path, "kind": kind, "target": target}
    if found is not None:
        mode = stat.S_IMODE(found.st_mode) & 0o777
        about.update(mode=mode, time=found.st_mtime_ns, size=size)
    return json.dumps(about).encode("ascii") + b"\n"


class Received:
    """Creates what arrives at *place*, all or nothing: ``finish`` or ``abandon``.

    Without *lines* it is the content of one file. ``size`` bytes of content have come.
    *warn_guard* learns under which path it comes before anything is there.
    Raises CannotCopy or OSError if nothing can be made there.
    """

    def __init__(
        self, place: str, lines: bool = True, warn_guard: Callable[[str], object] = str
    ) -> None:
        directory, name = os.path.split(os.path.abspath(place))
        if not os.path.isdir(directory):
            raise CannotCopy(f"there is no directory {directory}")
        if os.path.exists(place) and not (os.path.isfile(place) or os.path.isdir(place)):
            raise _not_copied(place)
        self._place = place
        short = os.fsdecode(os.fsencode(name)[:200])
        self._coming = os.path.join(directory, f".{short}.tfrun-{os.urandom(4).hex()}")
        self._line = bytearray()
        self._missing = 0  # bytes of the file that comes
        self._file = -1
        self._about: dict[str, Any] = {}
        self._made: list[tuple[str, int, int]] = []  # directories with their modes and times
        self._directories: set[str] = set()  # their paths below the first one
        self._links: list[tuple[str, str]] = []
        self._has_lines = lines
        self._is_begun = False
        self.size = 0
        self.left_out: list[str] = []  # what is neither, and links that lead out
        if not lines:
            self._refuse_if_in_its_way("file")
        warn_guard(self._coming)
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
        except OSError as error:
            raise self._named(error) from None

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
        """Begin the next file, directory or link."""
        try:
            about = json_reader.read(line)
            path, kind, target = (_text(about, name) for name in ("path", "kind", "target"))
            mode, size, time = (_number(about, name) for name in ("mode", "size", "time"))
        except (ValueError, LookupError, TypeError):
            raise CannotCopy(DAMAGED) from None
        if size < 0 or not self._is_expected(path):
            raise CannotCopy(DAMAGED)
        if path.count("/") >= DEEPEST:
            raise CannotCopy(f"it is more than {DEEPEST} directories deep")
        if not path:
            self._refuse_if_in_its_way(kind)
        self._is_begun = True
        self._about = {"mode": mode & 0o777, "time": time}
        if kind == "directory":
            self._make_directory(path)
            self._made.append((self._at(path), mode & 0o777, time))
            self._directories.add(path)
        elif kind == "file":
            self._open(path, 0o600)
            self._missing = size
            if not size:
                self._close()
        elif kind == "link" and stays_inside(path, target):
            self._links.append((self._at(path), target))
        else:
            self.left_out.append(path)

    def _is_expected(self, path: str) -> bool:
        """The first one has no path; all others are in a directory that was created, not linked."""
        if not path or not self._is_begun:
            return not path and not self._is_begun
        return is_inside(path) and os.path.dirname(path) in self._directories

    def _refuse_if_in_its_way(self, kind: str) -> None:
        """Only a file replaces what is there, and only a file."""
        if os.path.lexists(self._place) and (kind != "file" or os.path.isdir(self._place)):
            raise CannotCopy(f"{self._place} exists")

    def _at(self, path: str) -> str:
        return os.path.join(self._coming, path) if path else self._coming

    def _open(self, path: str, mode: int) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._file = os.open(self._at(path), flags, mode)
        except OSError as error:
            raise self._named(error, path) from None

    def _make_directory(self, path: str) -> None:
        try:
            os.mkdir(self._at(path), 0o700)
        except OSError as error:
            raise self._named(error, path) from None

    def _named(self, error: OSError, path: str = "") -> OSError:
        """The error with its final name instead of its temporary one."""
        place = os.path.join(self._place, path) if path else self._place
        return OSError(error.errno, error.strerror, place)

    def _close(self) -> None:
        if self._about:
            os.fchmod(self._file, self._about["mode"])
            os.utime(self._file, ns=(self._about["time"], self._about["time"]))
        os.close(self._file)
        self._file = -1

    def finish(self) -> None:
        """It is complete: give it its name."""
        if self._missing or self._line or (self._has_lines and not self._is_begun):
            raise CannotCopy(DAMAGED)
        if self._file >= 0:
            self._close()
        for path, target in self._links:
            os.symlink(target, path)
        for path, mode, time in reversed(self._made):
            os.utime(path, ns=(time, time))
            os.chmod(path, mode)
        self._refuse_if_in_its_way("directory" if self._made else "file")
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


def _text(about: Any, name: str) -> str:
    value = about[name]
    if not isinstance(value, str):
        raise ValueError(name)
    os.fsencode(value)  # or UnicodeEncodeError, which is a ValueError
    return value


def _number(about: Any, name: str) -> int:
    value = about.get(name, 0)
    if type(value) is not int:
        raise ValueError(name)
    return value


def is_inside(path: str) -> bool:
    return "\0" not in path and not {"", ".", ".."}.intersection(path.split("/"))


def stays_inside(path: str, target: str) -> bool:
    """Does a link at *path* lead below the first directory, judging by its text alone?"""
    place = os.path.normpath(os.path.join(os.path.dirname(path), target))
    is_plain = bool(target) and "\0" not in target and target == os.path.normpath(target)
    return bool(path) and is_plain and place[:1] != "/" and place.split("/")[0] != ".."


def destination(place: str, name: str) -> str:
    """The path of something called *name* that is copied to *place*."""
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
