"""Start a command in a session of its own, and find and signal all that is left of it.

A session, not only a process group: a shell with job control moves its children into
groups of their own, but they stay in the session.
"""

from __future__ import annotations

import os
import signal
import subprocess
from typing import IO, List, Mapping, Optional, Sequence, Union

_Stream = Union[None, int, IO[bytes]]


def start(
    argv: Sequence[str],
    *,
    env: Optional[Mapping[str, str]] = None,
    cwd: Optional[str] = None,
    stdin: _Stream = subprocess.DEVNULL,
    stdout: _Stream = None,
    stderr: _Stream = None,
) -> "subprocess.Popen[bytes]":
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


def signal_session(leader: int, number: int) -> None:
    """Send signal *number* to every living process of the session of *leader*."""
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # the group is gone, or only zombies of it are left
    for pid in members(leader):
        if _group(pid) != leader:
            _signal(pid, number)


def members(leader: int) -> List[int]:
    """The living processes of the session of *leader*; zombies have ended and do not count."""
    if not os.path.isdir("/proc/self"):
        return [leader] if _exists(leader) else []
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [pid for pid in pids if _session_if_alive(pid) == leader]


def kill_session(leader: int) -> None:
    """Leave nothing of the session of *leader* alive, however fast it forks."""
    for _ in range(100):
        signal_session(leader, signal.SIGKILL)
        if not members(leader):
            return


def exit_code(returncode: int) -> int:
    """The shell's number for a Popen returncode: 137 for -9, everything else as it is."""
    return 128 - returncode if returncode < 0 else returncode


def _session_if_alive(pid: int) -> Optional[int]:
    try:
        with open("/proc/{}/stat".format(pid), "rb") as file:
            stat = file.read()
    except OSError:
        return None
    # The name of the program stands in brackets and may hold anything, brackets too.
    state, _parent, _group, session = stat.rpartition(b")")[2].split()[:4]
    return None if state in b"ZX" else int(session)


def _group(pid: int) -> Optional[int]:
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
