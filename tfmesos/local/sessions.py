"""Signals to many sessions at once: one look at /proc for all of them, not one for each."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator


def signal_all(leaders: Collection[int], number: int) -> None:
    """Send signal *number* to every process of the sessions of *leaders*."""
    for leader in leaders:
        _signal_group(leader, number)
    for pid, leader in _followers(leaders):
        if _group(pid) != leader:
            _signal(pid, number)


def kill_rest(leaders: Collection[int]) -> set[int]:
    """Kill what is left of sessions whose leader has ended, but was not reaped yet.

    Returns the leaders of those that are not empty yet: dying takes a moment.
    """
    for leader in leaders:
        _signal_group(leader, signal.SIGKILL)
    living = [(pid, leader) for pid, leader in _followers(leaders) if _is_alive(pid)]
    for pid, _leader in living:
        _signal(pid, signal.SIGKILL)
    return {leader for _pid, leader in living}


def _signal_group(leader: int, number: int) -> None:
    try:
        os.killpg(leader, number)
    except (ProcessLookupError, PermissionError):
        pass  # only zombies are left


def _followers(leaders: Collection[int]) -> Iterator[tuple[int, int]]:
    """Every process but the leaders in one of these sessions, zombies too, and its leader."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except FileNotFoundError:  # not Linux: the process groups are all that can be found
        return
    for pid in pids:
        try:
            leader = os.getsid(pid)
        except (ProcessLookupError, PermissionError):
            continue
        if leader in leaders and pid != leader:
            yield pid, leader


def _is_alive(pid: int) -> bool:
    """Whether it still runs: a zombie does not, and stays until its parent looks at it."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in b"ZX"
    except OSError:
        return False


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass  # it has ended meanwhile
