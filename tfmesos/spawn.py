"""Start a command in a session of its own, by fork and exec.

subprocess would do it too, but takes longer to import than the command to start.
"""

from __future__ import annotations

import os

from .system import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import NoReturn

_STANDARD = (0, 1, 2)


class Spawned:
    """A child of this process; ``returncode`` is that of a Popen, and None until it is reaped."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Reap it if it has ended."""
        return self._reap(os.WNOHANG)

    def wait(self) -> int:
        code = self._reap(0)
        assert code is not None
        return code

    def _reap(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                killed = os.WIFSIGNALED(status)
                self.returncode = -os.WTERMSIG(status) if killed else os.WEXITSTATUS(status)
        return self.returncode


def spawn(
    argv: Sequence[str], env: Mapping[str, str], cwd: str, streams: tuple[int, int, int]
) -> Spawned:
    """Start *argv* as the leader of a new session, with *streams* as its standard streams.

    OSError or ValueError if it cannot be started. The caller owns and reaps it.
    """
    if any("\0" in word for word in argv):
        raise ValueError("embedded null byte")
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read_end)
        _become(argv, env, cwd, streams, write_end)
    os.close(write_end)
    problem = os.read(read_end, 4096).decode("utf-8", "replace")  # b"" once exec has closed it
    os.close(read_end)
    started = Spawned(pid)
    if problem:
        started.wait()
        number, _, text = problem.partition(" ")
        raise OSError(int(number), text) if int(number) else ValueError(text)
    return started


def close_all_but(*kept: int) -> None:
    try:
        files = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        files = list(range(256))
    for fd in files:
        if fd not in kept:
            os.closerange(fd, fd + 1)  # does not mind if it is closed already


def _become(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    streams: tuple[int, int, int],
    report: int,
) -> NoReturn:
    """In the child: turn into the command, or tell *report* why not."""
    try:
        os.setsid()
        for standard in _STANDARD:
            os.dup2(streams[standard], standard)
        close_all_but(*_STANDARD, report)
        for name in ("SIGPIPE", "SIGXFSZ"):  # which Python ignores, and a command expects not to
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.chdir(cwd)
        os.execvpe(argv[0], list(argv), env)
    except Exception as error:
        number, text = (error.errno, error.strerror) if isinstance(error, OSError) else (0, error)
        os.write(report, f"{number} {text}".encode("utf-8", "replace")[:4096])
    finally:
        os._exit(127)
