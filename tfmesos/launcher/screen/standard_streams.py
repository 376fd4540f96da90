"""Where text for the user goes: the standard streams of this process, or those of Python."""

from __future__ import annotations

import fcntl
import os
import select
import stat
import sys
import termios
from collections.abc import Callable, Mapping
from typing import Any

from ...record import Record

PIECE = 1000  # characters, at most 4,000 bytes: a pipe that can be written takes them at once
NOBODY_READS = 128 + 13  # the exit code, as if by SIGPIPE
EX_IOERR = 74


class Screen(Record):
    """Two functions that write text, and what their streams may hold."""

    out: Callable[[str], None]
    err: Callable[[str], None]
    terminal_out: bool = False
    terminal_err: bool = False
    colour_out: bool = False
    colour_err: bool = False
    live: bool = False  # may the last lines be rewritten?

    @classmethod
    def of_this_process(cls) -> Screen:
        """The standard streams, written without Python's buffers, so that nothing is held back."""
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        out, err = os.isatty(1), os.isatty(2)
        return cls(
            out=lambda text: write_all(1, _encoded(text)),
            err=lambda text: write_all(2, _encoded(text)),
            terminal_out=out,
            terminal_err=err,
            colour_out=out and not plain,
            colour_err=err and not plain,
            live=err and _may_be_live(os.environ) and not _is_pipe(1),
        )

    @classmethod
    def of_python(cls) -> Screen:
        """sys.stdout and sys.stderr as they are at the time, for notebooks and tests."""
        return cls(
            out=lambda text: _print(sys.stdout, text),
            err=lambda text: _print(sys.stderr, text),
            terminal_out=_is_terminal(sys.stdout),
            terminal_err=_is_terminal(sys.stderr),
        )


def _may_be_live(environ: Mapping[str, str]) -> bool:
    """Can this terminal move its cursor, and is a person looking at it?

    ``!tfrun`` in a notebook has a terminal, but everything written there stays in the notebook.
    """
    is_kept = environ.get("CI") or environ.get("JPY_PARENT_PID")
    return environ.get("TERM", "dumb") not in ("dumb", "") and not is_kept


def _is_pipe(fd: int) -> bool:
    """Whoever reads it, such as a pager, may write to our terminal as well."""
    mode = os.fstat(fd).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def write_all(fd: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(fd, left) :]
        except BlockingIOError:
            _wait_until_writable(fd)


def _wait_until_writable(fd: int) -> None:
    """A program that shares the stream with us may have made it non-blocking."""
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    poll.poll()


def _print(stream: Any, text: str) -> None:
    fd = _non_blocking(stream)
    if fd is None:
        print(text, end="", file=stream, flush=True)
        return
    for at in range(0, len(text), PIECE):  # Python's buffers lose what a write did not take
        _wait_until_writable(fd)
        print(text[at : at + PIECE], end="", file=stream, flush=True)


def _non_blocking(stream: Any) -> int | None:
    try:
        fd: int = stream.fileno()
        return None if os.get_blocking(fd) else fd
    except (AttributeError, OSError, ValueError):  # no file, as in a notebook, or a closed one
        return None


def unread_input() -> bool:
    """Is somebody sending us something on standard input? A terminal does not count."""
    try:
        status = os.fstat(0)
        if stat.S_ISREG(status.st_mode):
            return os.lseek(0, 0, os.SEEK_CUR) < status.st_size
        if not (stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            return False
        waiting = fcntl.ioctl(0, termios.FIONREAD, bytes(4))
    except OSError:  # it is closed
        return False
    return any(waiting)


def is_inherited_input() -> bool:
    """Does our parent have the same standard input, such as a shell loop that reads it?"""
    try:
        theirs = os.stat(f"/proc/{os.getppid()}/fd/0")
    except OSError:
        return False  # gone, of another user, or not Linux
    return os.path.samestat(os.fstat(0), theirs)


def _is_terminal(stream: Any) -> bool:
    return stream is not None and hasattr(stream, "isatty") and bool(stream.isatty())


def unwritten(error: Exception) -> tuple[str, int]:
    """The message about output that could not be written, and its exit code."""
    if isinstance(error, BrokenPipeError):
        return "nobody reads the output any more", NOBODY_READS
    return f"the output cannot be written: {error}", EX_IOERR
