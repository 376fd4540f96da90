"""The file in which a running page tells other commands of its owner how to link to it.

It is locked as long as the page is served, so a file left by a crash is not a page.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import CannotWrite
from ...private_directory import make_private
from ...shared import json_reader
from .browser_access import Served

WRITTEN_WITHIN = 5.0  # seconds in which a page that has begun is announced
LONGEST = 4096  # bytes


def file_in(state: Path) -> Path:
    """A state directory may be shared by several machines."""
    return state / f"page-{socket.gethostname().replace('/', '-')}.json"


class Announcement:
    def __init__(self, file: Path) -> None:
        self._file = file

    @contextmanager
    def claimed(self) -> Iterator[int | None]:
        """A descriptor of the file while this process alone may serve; None if another does."""
        descriptor = self._opened()
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
                return
            except OSError as error:
                raise self._cannot(error.strerror) from None
            os.ftruncate(descriptor, 0)  # what a crash has left
            try:
                yield descriptor
            finally:
                self._file.unlink(missing_ok=True)
        finally:
            os.close(descriptor)

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            make_private(self._file.parent)
            descriptor = os.open(self._file, flags, 0o600)
        except OSError as error:
            raise self._cannot(error.strerror) from None
        if os.fstat(descriptor).st_uid != os.geteuid():
            os.close(descriptor)
            raise self._cannot("it belongs to another user")
        os.fchmod(descriptor, 0o600)
        return descriptor

    def _cannot(self, why: str | None) -> CannotWrite:
        return CannotWrite(f"no page can be served: {self._file}: {why}")

    def found(self) -> Served | None:
        """The page that another process serves; None if it has ended, or is unknown."""
        until = time.monotonic() + WRITTEN_WITHIN
        while self._file.exists() and time.monotonic() < until:
            with open(self._opened(), "rb") as file:
                if (served := _read(file.read(LONGEST))) is not None:
                    return served
            time.sleep(0.05)
        return None


def announce(descriptor: int, served: Served) -> None:
    try:
        os.pwrite(descriptor, json.dumps(served._values()).encode(), 0)
    except OSError as error:
        raise CannotWrite(f"no page can be served: its address: {error.strerror}") from None


def _read(data: bytes) -> Served | None:
    try:
        found = json_reader.read(data)
        return Served(int(found["port"]), found["path"], found["key"], int(found["pid"]))
    except (ValueError, KeyError, TypeError):
        return None  # not written yet
