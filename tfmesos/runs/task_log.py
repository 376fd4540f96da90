"""The output of one task in a file of limited size: its beginning and its end.

What comes after the beginning goes into numbered pieces, of which the last ones are kept; each
begins with the number of lines before it. At the end all are joined into one file, which says in
the middle how many lines are missing there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

PIECES = 4  # that are kept; together they are as large as the beginning

_LEFT_OUT = re.compile(rb"\((\d+) lines left out here: the log of a task is limited\)\n")


class Position(NamedTuple):
    """The position up to which a log is written."""

    piece: int
    size: int  # of the piece, in bytes
    lines: int  # of all pieces
    beginning: int  # lines before the first piece


class TaskLog:
    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._piece = 0  # the one that is written; 0 for the beginning
        self._size = self._lines = 0
        self._beginning = 0  # lines in the beginning

    @property
    def position(self) -> Position:
        return Position(self._piece, self._size, self._lines, self._beginning)

    def go_on_at(self, position: Position) -> None:
        """Continue a log of another process after *position*, and remove what follows."""
        self._piece, self._size, self._lines, self._beginning = position
        for number in _pieces(self._path):
            if number > position.piece:
                _piece(self._path, number).unlink()
        file = _piece(self._path, position.piece)
        if file.exists():
            with file.open("rb+") as opened:
                header = len(opened.readline()) if position.piece else 0
                opened.truncate(header + position.size)

    def go_on_at_end(self) -> None:
        """Continue a log of another process at its end."""
        pieces = (0, *_pieces(self._path))
        lines = size = beginning = 0
        for number in pieces:
            with suppress(FileNotFoundError), _piece(self._path, number).open("rb") as file:
                lines = int(file.readline()) if number else 0
                content = file.read()
                size, lines = len(content), lines + content.count(b"\n")
            beginning = beginning or lines
        self._piece = pieces[-1]
        self._size = size
        self._lines = lines
        self._beginning = beginning if pieces[-1] else 0

    def append(self, data: bytes) -> None:
        """*data* is whole lines."""
        if self._size and self._size + len(data) > self._room:
            self._begin_piece()
        append(_piece(self._path, self._piece), data)
        self._size += len(data)
        self._lines += data.count(b"\n")

    @property
    def _room(self) -> int:
        return self._limit // 2 // (PIECES if self._piece else 1)

    def _begin_piece(self) -> None:
        if not self._piece:
            self._beginning = self._lines
        self._piece = self._piece + 1
        self._size = 0
        if (oldest := self._piece - PIECES) > 0:
            _piece(self._path, oldest).unlink(missing_ok=True)
        try:
            append(_piece(self._path, self._piece), b"%d\n" % self._lines)
        except OSError:
            _piece(self._path, self._piece).unlink(missing_ok=True)
            raise

    def join(self) -> None:
        """Nothing more will come: join the pieces into one file."""
        if not self._piece:
            return  # it is one; to wait for the disk would take long, of many tasks
        joined = self._path.with_name(f"{self._path.name}.joined")
        try:
            with joined.open("wb") as file:
                self._copy_pieces(file)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            joined.unlink(missing_ok=True)
            raise
        joined.replace(self._path)
        for number in _pieces(self._path):
            _piece(self._path, number).unlink(missing_ok=True)

    def _copy_pieces(self, file: BinaryIO) -> None:
        """Copy them as they are, with a note where some are missing: single lines would be slow."""
        passed = self._beginning
        for number in (0, *_pieces(self._path)):
            with _piece(self._path, number).open("rb") as piece:
                if number:
                    before = int(piece.readline())
                    file.write(_note(before - passed) if passed < before else b"")
                    passed = self._lines  # after the first gap there is none
                shutil.copyfileobj(piece, file)


class LogReader:
    """Reads a log as it grows, while its pieces come and go and when they have been joined."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._piece = self._offset = 0
        self._lines = 0  # passed, read or not
        self._known = 0  # lines that were read before the pieces were joined

    def skip(self, keep: int) -> None:
        """Call before reading: skips all but about the last *keep* bytes."""
        left = keep
        for number in reversed((0, *_pieces(self._path))):
            try:
                with _piece(self._path, number).open("rb") as file:
                    left -= file.seek(0, os.SEEK_END)
                    if left < 0 or number == 0:
                        return self._skip_in(number, file, max(-left, 0))
            except FileNotFoundError:
                return

    def _skip_in(self, number: int, file: BinaryIO, passed: int) -> None:
        """Continue after the line that contains byte *passed* of this piece."""
        file.seek(0)
        before = int(file.readline()) if number else 0
        header, skipped = file.tell(), 0
        while file.tell() < passed:
            skipped += file.read(min(1 << 20, passed - file.tell())).count(b"\n")
        if file.tell() > header:
            skipped += file.readline().count(b"\n")
        self._piece = number
        self._offset = file.tell()
        self._lines = before + skipped

    def lines(self) -> Iterator[bytes]:
        """The whole lines that have arrived since the last call."""
        for number in self._readable():
            try:
                file = _piece(self._path, number).open("rb")
            except FileNotFoundError:
                return  # just removed, or not there yet: the next call will show
            with file:
                if number != self._piece:
                    header = file.readline()
                    if not header.endswith(b"\n"):
                        return  # is being written
                    yield from self._enter(number, header)
                yield from self._rest(file)

    def _readable(self) -> list[int]:
        there = _pieces(self._path)
        if self._piece and not there:
            self._known = self._lines
            self._lines = 0
            self._piece = 0
            self._offset = 0
        here = [self._piece] if self._piece in (0, *there) else []
        return [*here, *(number for number in there if number > self._piece)]

    def _enter(self, number: int, header: bytes) -> Iterator[bytes]:
        """Move on to another piece; returns how many lines were between the last one and this."""
        missing = int(header) - self._lines
        self._piece = number
        self._offset = len(header)
        if missing:
            self._lines += missing
            yield _note(missing)

    def _rest(self, file: BinaryIO) -> Iterator[bytes]:
        file.seek(self._offset)
        for line in file:
            if not line.endswith(b"\n"):
                return  # is being written
            self._offset += len(line)
            note = _LEFT_OUT.fullmatch(line)
            passed = int(note[1]) if note else 1
            self._lines += passed
            if (unread := min(passed, self._lines - self._known)) > 0:
                yield _note(unread) if note else line


def _note(missing: int) -> bytes:
    return b"(%d lines left out here: the log of a task is limited)\n" % missing


class NotWritten(OSError):
    """The *rest* of what was to be written, whole lines, is not in the file."""

    rest: bytes


def append(path: Path, data: bytes) -> None:
    """Opens the file each time: a thousand tasks keep no file open. Raises NotWritten, OSError."""
    opened = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(opened, left) :]
    except OSError as error:
        raise _cut(opened, data, len(data) - len(left), error) from None
    finally:
        os.close(opened)


def _cut(opened: int, data: bytes, written: int, error: OSError) -> NotWritten:
    """Remove an incomplete line."""
    whole = data.rfind(b"\n", 0, written) + 1
    with suppress(OSError):
        os.ftruncate(opened, os.fstat(opened).st_size - (written - whole))
    found = NotWritten(error.errno, error.strerror)
    found.rest = data[whole:]
    return found


def _piece(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _pieces(path: Path) -> list[int]:
    """The numbers of the pieces after the beginning, in order."""
    endings = (other.name[len(path.name) + 1 :] for other in path.parent.glob(f"{path.name}.*"))
    return sorted(int(ending) for ending in endings if ending.isdecimal())
