"""Processes that the commands of a task left running.

The runner adopts it: Linux makes processes whose parent has ended children of the nearest ancestor
that asks for them, whatever session or environment they have. To see them costs one look at our
own children, where ``process`` has to look at every process of the machine.
"""

from __future__ import annotations

import os

from ...shared import process
from ...shared.stdlib import prctl, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER = 36  # a number of Linux


def adopt() -> bool:
    """Have them from now on. False where the system does not give them, or does not list them."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1) and _children() is not None


def reap(known: Collection[int]) -> list[int]:
    """Those that live; others of our children are *known* and are not for us to wait for."""
    return [pid for pid in _children() or () if pid not in known and not _has_ended(pid)]


def kill(known: Collection[int], session: int = 0) -> bool:
    """Leave none of them alive, or none of one *session*. False as of ``process.kill_session``.

    A child of one that is killed becomes ours before we can see the end of its parent.
    """

    def find_and_kill() -> list[int]:
        found = [pid for pid in reap(known) if session in (0, process.session(pid))]
        for pid in found:
            process.send(pid, signal.SIGKILL)
        return found

    return process.until_none_is_left(find_and_kill)


def _children() -> list[int] | None:
    """All of this process, which has one thread."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb", buffering=0) as file:
            return list(map(int, file.read().split()))
    except OSError:
        return None


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return True
