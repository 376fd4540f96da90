"""Files that somebody else named or made: opened without waiting for anybody, and no devices."""

from __future__ import annotations

import errno
import os
import stat
from typing import BinaryIO, cast

# What a shell hands over is meant to be read: `tfrun <(make-job)`, `--env-file /dev/stdin`.
_HANDED_OVER = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """*path* to be read, if it is a regular file; else an OSError that says what is wrong.

    Opening a FIFO would wait for a writer, and reading a device need not have an end.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        _check(fd, os.fspath(path))
        os.set_blocking(fd, True)
        return cast("BinaryIO", os.fdopen(fd, "rb"))
    except BaseException:
        os.close(fd)
        raise


def beginning(path: str | os.PathLike[str], most: int) -> bytes:
    """At most this many bytes of it."""
    with opened(path) as file:
        return file.read(most)


def _check(fd: int, path: str) -> None:
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    is_good = stat.S_ISREG(mode) or path == os.devnull or path.startswith(_HANDED_OVER)
    if not is_good:
        raise OSError(errno.EINVAL, "not a regular file", path)
