"""A file that a user names: no more of it is read than could be used, and nobody is waited for."""

from __future__ import annotations

import os


def beginning(path: str, most: int) -> bytes:
    """At most so many bytes of it. A FIFO that nobody writes to is empty."""
    with open(path, "rb", opener=_without_waiting) as file:
        return file.read(most)


def _without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO waits for a writer; reading it does not wait unless there is one."""
    fd = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd
