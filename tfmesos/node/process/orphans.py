"""Processes that the commands of a task left running.

The runner adopts them: Linux makes processes whose parent has ended children of the nearest
ancestor that asks for them, whatever their session or environment. Finding them takes one look at
our own children, while ``process`` has to look at every process of the machine.
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
    """Adopt orphans from now on. False if the system does not support it, or cannot list them."""
    return prctl(_PR_SET_CHILD_SUBREAPER, 1) and _children() is not None


def reap(known: Collection[int]) -> list[int]:
    """The orphans that are alive; children that are *known* are not ours to reap."""
    return [pid for pid in _children() or () if pid not in known and not _has_ended(pid)]


def kill(known: Collection[int], session: int = 0) -> bool:
    """Kill all of them, or those of one *session*.

    False as for ``process.kill_session``. A child of a killed process becomes ours before we can
    see the end of its parent.
    """

    def find_and_kill() -> list[int]:
        found = [pid for pid in reap(known) if session in (0, process.session(pid))]
        for pid in found:
            process.send(pid, signal.SIGKILL)
        return found

    return process.until_none_is_left(find_and_kill)


def _children() -> list[int] | None:
    """All children of this process, which has one thread."""
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
