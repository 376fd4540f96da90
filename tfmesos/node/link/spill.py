"""Output that waits for the next launcher, in a file that nobody has to remove.

The file is in the sandbox, without a name, so it disappears with the runner.
"""

from __future__ import annotations

import os

SPILL_LIMIT = 1024 * 1024 * 1024  # bytes


class Spill:
    """Frames without room in memory. Once the disk is full, the spill has no room either."""

    def __init__(self, limit: int = SPILL_LIMIT) -> None:
        self._limit = limit
        self._file = -1
        self._end = 0  # of what is written
        self._waiting = 0  # frames
        self._is_refused = False

    def __len__(self) -> int:
        """How many frames wait here."""
        return self._waiting

    @property
    def has_room(self) -> bool:
        return not self._is_refused and self._end < self._limit

    def add(self, frame: bytes) -> tuple[int, int] | None:
        """Its position from now on; None if the disk has no room for it."""
        try:
            self._write(frame)
        except OSError:
            self._is_refused = True
            return None
        self._waiting += 1
        self._end += len(frame)
        return self._end - len(frame), len(frame)

    def _write(self, frame: bytes) -> None:
        if self._file < 0:
            self._file = _open()
        at = self._end
        while frame:
            written = os.pwrite(self._file, frame, at)
            frame = frame[written:]
            at += written

    def read(self, place: tuple[int, int]) -> bytes:
        at, size = place
        return os.pread(self._file, size, at)

    def remove(self) -> None:
        """One frame less; after the last the room is there again."""
        self._waiting -= 1
        if not self._waiting:
            self._end = 0
            os.truncate(self._file, 0)


def _open() -> int:
    """An unnamed file in the sandbox. Raises OSError."""
    directory = os.environ.get("MESOS_SANDBOX") or "."
    path = os.path.join(directory, f".tfmesos-spill-{os.getpid()}")
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    os.unlink(path)
    return opened
