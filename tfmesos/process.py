"""Start a command in a session of its own, and find and signal all that is left of it.

A session, not only a process group: a shell with job control moves its children into
groups of their own, but they stay in the session.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Mapping, Sequence

    Stream = None | int | IO[bytes]


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    stdin: Stream = subprocess.DEVNULL,
    stdout: Stream = None,
    stderr: Stream = None,
) -> subprocess.Popen[bytes]:
    """Start *argv* as the leader of a new session. The caller owns and reaps it."""
    return subprocess.Popen(
        argv,
        env=env,
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        close_fds=True,
    )


def has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether *process* has ended, without reaping it where the platform can.

    Until it is reaped its number cannot be given to a stranger, so its session can still
    be signalled safely.
    """
    if process.returncode is not None:
        return True
    if not hasattr(os, "waitid"):
        return process.poll() is not None
    try:
        flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, process.pid, flags) is not None
    except ChildProcessError:
        return True


def signal_session(leader: int, number: int) -> None:
    """Send signal *number* to every living process of the session of *leader*."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # the group is gone, or only zombies of it are left
    for pid in members(leader):
        if _group(pid) != leader:
            _signal(pid, number)


def members(leader: int) -> list[int]:
    """The living processes of the session of *leader*; zombies have ended and do not count."""
    if not _has_proc():
        return [leader] if _exists(leader) else []
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if _session_if_alive(pid) == leader]


def kill_session(leader: int, patience: float = 2.0) -> bool:
    """Leave nothing of the session of *leader* alive, however fast it forks.

    False if something survived SIGKILL for *patience* seconds: it hangs in the kernel and
    dies as soon as that lets go of it.
    """
    if not _has_proc():
        signal_session(leader, signal.SIGKILL)
        return True
    deadline = time.monotonic() + patience
    pause = 0.0005
    while members(leader):
        if time.monotonic() > deadline:
            return False
        signal_session(leader, signal.SIGKILL)
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return True


def exit_code(returncode: int) -> int:
    """The shell's number for a Popen returncode: 137 for -9, everything else as it is."""
    return 128 - returncode if returncode < 0 else returncode


def _has_proc() -> bool:
    return os.path.isdir("/proc/self")


def _session_if_alive(pid: int) -> int | None:
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything, brackets too.
    state, _parent, _group, session = stat.rpartition(b")")[2].split()[:4]
    return None if state in b"ZX" else int(session)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass
