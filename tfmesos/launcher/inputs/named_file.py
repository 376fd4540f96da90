"""A file that a user names: no more of it is read than could be used, and nobody is waited for."""

from __future__ import annotations

import os

from ...errors import UnreadableFile


def beginning(path: str, most: int) -> bytes:
    """At most so many bytes of it. A FIFO that nobody writes to is empty."""
    with open(path, "rb", opener=_without_waiting) as file:
        return file.read(most)


def content_of(field: str, path: str, most: int) -> bytes:
    """The same for the file that the setting *field* names; UnreadableFile if that fails."""
    try:
        return beginning(path, most)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        why = error.strerror if isinstance(error, OSError) else error
        raise UnreadableFile(None, field, f"cannot be read: {path}: {why}") from None


def _without_waiting(path: str, flags: int) -> int:
    """Opening a FIFO waits for a writer; reading it does not wait unless there is one."""
    fd = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(fd, True)
    return fd
