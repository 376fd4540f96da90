"""Start a command in a session of its own, by fork and exec.

subprocess could do this, too, but takes longer to import than the command takes to start.
"""

from __future__ import annotations

import os

from ...shared.stdlib import prctl, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import NoReturn

    from .guard import Guard

_STANDARD = (0, 1, 2)
_PR_SET_PDEATHSIG = 1  # a number of Linux


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
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    streams: tuple[int, int, int],
    guard: Guard,
    *,
    at_terminal: bool = False,
) -> Spawned:
    """Start *argv* as the leader of a new session, with *streams* as its standard streams.

    They are the terminal of its session if it is *at a terminal*. *guard* knows about it before the
    command begins. If we are killed before, it never begins; if we are killed later, it ends with
    us, as far as Linux supports that. OSError or ValueError if it cannot be started. The caller
    owns and reaps it.
    """
    if any("\0" in word for word in argv):
        raise ValueError("embedded null byte")
    take_terminal = _terminal_taker() if at_terminal else lambda: None
    (errors, report), (permit, permission) = pipes = os.pipe(), os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for fd in (*pipes[0], *pipes[1]):
            os.close(fd)
        raise
    if pid == 0:
        _exec(argv, env, cwd, streams, report, permit, take_terminal)
    os.close(report)
    os.close(permit)
    guard.began(pid)
    _permit(permission)
    if problem := _start_error(errors):
        guard.ended(pid)
        os.waitpid(pid, 0)
        number, _, text = problem.partition(" ")
        raise OSError(int(number), text) if int(number) else ValueError(text)
    return Spawned(pid)


def _terminal_taker() -> Callable[[], object]:
    """What makes standard input the terminal of a session; imported before the fork."""
    import fcntl  # is rarely needed
    import termios

    return lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _permit(pipe: int) -> None:
    try:
        os.write(pipe, b".")
    except BrokenPipeError:
        pass  # the child was killed already
    os.close(pipe)


def _start_error(pipe: int) -> str:
    """Why it cannot be started; empty once exec has closed the pipe."""
    try:
        return os.read(pipe, 4096).decode("utf-8", "replace")
    finally:
        os.close(pipe)


def close_all_but(*kept: int) -> None:
    try:
        files = [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        files = list(range(256))
    for fd in files:
        if fd not in kept:
            os.closerange(fd, fd + 1)  # does not mind if it is closed already


def _enter(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:  # not to be mistaken for an error of the command
        raise ValueError(f"cannot enter {directory}: {error.strerror}") from None


def _execute(argv: list[str], env: Mapping[str, str]) -> NoReturn:
    """Like os.execvpe, which would import ``warnings`` first."""
    if os.path.dirname(argv[0]):
        os.execve(argv[0], argv, env)
    problems = []
    for directory in env.get("PATH", os.defpath).split(os.pathsep):
        try:
            os.execve(os.path.join(directory, argv[0]), argv, env)
        except OSError as error:
            problems.append(error)
    is_absence = (FileNotFoundError, NotADirectoryError)
    raise next((one for one in problems if not isinstance(one, is_absence)), problems[-1])


def _exec(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    streams: tuple[int, int, int],
    report: int,
    permit: int,
    take_terminal: Callable[[], object],
) -> NoReturn:
    """In the child: execute the command once *permit* has a byte, or write to *report* why not.

    The session is made before other files are closed: the guard may be waiting for such a file
    to close, and then looks for the session.
    """
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # of the command alone; and a guard may be killed
        for standard in _STANDARD:
            os.dup2(streams[standard], standard)
        take_terminal()
        close_all_but(*_STANDARD, report, permit)
        if not os.read(permit, 1):
            os._exit(127)  # the parent is dead, and the guard may not know of us
        for name in ("SIGPIPE", "SIGXFSZ"):  # which Python ignores, and a command expects not to
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        _enter(cwd)
        _execute(list(argv), env)
    except Exception as error:
        number, text = (error.errno, error.strerror) if isinstance(error, OSError) else (0, error)
        os.write(report, f"{number} {text}".encode("utf-8", "replace")[:4096])
    finally:
        os._exit(127)
