"""Start a command in a session of its own, and find and signal all that is left of it.

A session, not only a process group: a shell with job control moves its children into
groups of their own, but they stay in the session.
"""

from __future__ import annotations

import errno
import os
import time

from .exit_status import killed_by
from .stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import IO, Any, Protocol

    Stream = None | int | IO[bytes]
    Ending = tuple[int, str]  # the exit code as a shell counts it, and the words for it

    class Child(Protocol):
        """A Popen, or what is like it."""

        pid: int
        returncode: Any

        def poll(self) -> int | None: ...


STOP_SIGNALS = {"TERM": signal.SIGTERM, "INT": signal.SIGINT}  # what tells a task to end
MARK = "TFMESOS_TASK_ID"  # in the environment of all that a task starts
AT_LIMIT = "no more processes are allowed here: see ulimit -u, or the pids limit of the container"
KILL_TIMEOUT = 2.0  # seconds
_DEVNULL = -3  # as subprocess has it
_STAT_SIZE = 2048  # bytes; no line of /proc/PID/stat is longer


def has_ended(process: Child) -> bool:
    """Whether *process* has ended, without reaping it where the platform can.

    Until it is reaped its number cannot be given to another process, so its session can still
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


def exists(pid: int) -> bool:
    """Whether there is such a process, of any user. A zombie does not count."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return _state(pid) not in (b"Z", b"X")


def is_stopped(pid: int) -> bool:
    """Whether it is stopped until a SIGCONT, as after a Ctrl-Z."""
    return pid > 0 and _state(pid) in (b"T", b"t")


def signal_sessions(leaders: Collection[int], number: int) -> set[int]:
    """Send signal *number* to every living process of the sessions of *leaders*.

    Returns the leaders of the sessions that had any. /proc is read once for all of them.
    """
    for leader in leaders:
        signal_group(leader, number)
    living = _members(leaders)
    for pid, leader in living.items():
        if _group(pid) != leader:
            send(pid, number)
    return set(living.values())


def members(leader: int) -> list[int]:
    """The living processes of the session of *leader*; zombies have ended and do not count."""
    return list(_members([leader]))


def kill_session(leader: int, timeout: float = KILL_TIMEOUT) -> bool:
    """Leave nothing of the session of *leader* alive, however fast it forks.

    False if something survived SIGKILL for *timeout* seconds: it hangs in the kernel and
    dies as soon as it returns from there.
    """
    return until_none_is_left(lambda: signal_sessions([leader], signal.SIGKILL), timeout)


def signal_marked(name: str, values: Collection[str], number: int) -> set[str]:
    """Signal every other process of ours that has one of *values* for *name* in its environment.

    For those that left the session of their task, and those that never had one. Returns the
    values that were found. /proc is read once for all of them.
    """
    variable, wanted = f"\0{name}=".encode(), set(map(os.fsencode, values))
    found = set()
    for pid in pids():
        value = environment(pid).partition(variable)[2].partition(b"\0")[0]
        if value in wanted and pid != os.getpid():
            send(pid, number)
            found.add(os.fsdecode(value))
    return found


def kill_marked(name: str, value: str, timeout: float = KILL_TIMEOUT) -> bool:
    """As kill_session, for all that signal_marked finds."""
    return until_none_is_left(lambda: signal_marked(name, [value], signal.SIGKILL), timeout)


def until_none_is_left(kill: Callable[[], object], timeout: float = KILL_TIMEOUT) -> bool:
    """Call *kill* until it finds nothing to kill; False if that takes too long."""
    deadline = time.monotonic() + timeout
    pause = 0.0005
    while kill():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return True


def erase_from_environment(value: str) -> None:
    overwrite_in_environment(value, "*" * len(os.fsencode(value)))


def overwrite_in_environment(value: str, other: str) -> None:
    """Put *other*, which is not longer, in place of *value* in our original environment.

    /proc/PID/environ shows that to all processes of our user, whatever we have changed since.
    """
    text = os.fsencode(value)
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[47]), int(fields[48])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:
            memory.seek(start)
            at = memory.read(end - start).find(text)
            if at >= 0:
                memory.seek(start + at)
                memory.write(os.fsencode(other).ljust(len(text), b"\0"))
    except (OSError, ValueError, IndexError):
        pass  # not Linux, or one that does not let us: then it stays


def ending(returncode: int) -> Ending:
    """Of a process with the returncode of a Popen."""
    if returncode >= 0:
        return returncode, f"exited with {returncode}"
    return exit_code(returncode), killed_by(-returncode)


def is_limit(error: BaseException) -> bool:
    """Does it, or one of its group, say that no more processes or threads are allowed?"""
    if isinstance(error, OSError):
        return error.errno == errno.EAGAIN
    if isinstance(error, RuntimeError):
        return "start new thread" in str(error)
    return any(map(is_limit, getattr(error, "exceptions", ())))


def in_words(error: Exception) -> str:
    return AT_LIMIT if is_limit(error) else str(error)


def could_not_start(name: str, error: Exception) -> Ending:
    """As a shell says it: 127 for a command that is not there, 126 for one that cannot run."""
    if isinstance(error, FileNotFoundError):
        return 127, f"could not be started: no such command: {name}"
    if isinstance(error, PermissionError):
        return 126, f"could not be started: not executable: {name}"
    return 126, f"could not be started: {name}: {in_words(error)}"


def exit_code(returncode: int) -> int:
    """The shell's number for a Popen returncode: 137 for -9, everything else as it is."""
    return 128 - returncode if returncode < 0 else returncode


def _members(leaders: Collection[int]) -> dict[int, int]:
    """Living process -> leader of its session, where that is one of *leaders*."""
    sessions = ((pid, session(pid)) for pid in pids())
    return {pid: sid for pid, sid in sessions if sid in leaders and sid and _is_alive(pid)}


def pids() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:
        return []  # not Linux: the process groups are all that can be reached


def environment(pid: int) -> bytes:
    """Its variables, between zeros."""
    try:
        with open(f"/proc/{pid}/environ", "rb", buffering=0) as file:
            return b"\0" + file.read()
    except OSError:  # it has just ended, or is not ours
        return b""


def _is_alive(pid: int) -> bool:
    return _state(pid) not in (b"Z", b"X", b"")


def _state(pid: int) -> bytes:
    """The letter the kernel has for its state; empty if there is no such process, or no /proc."""
    fields = stat(pid)
    return fields[0] if fields else b""


def stat(pid: int) -> list[bytes]:
    """What /proc says about it, from its state on; empty without such a process or /proc."""
    try:
        # The name of the program stands in brackets and may hold anything, brackets too.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(_STAT_SIZE).rpartition(b")")[2].split()
    except OSError:
        return []


def session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # the group is gone, or only zombies of it are left


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended meanwhile
