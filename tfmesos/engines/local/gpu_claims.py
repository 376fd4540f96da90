"""Which run has which GPU of this machine: runs of all users agree on it.

The claim to a GPU is a name in the kernel's table of abstract Unix sockets: one process at a time
can have it, the kernel frees it when that process ends, however it ends, and tells anybody who asks
which process it is. Whoever takes a name without need keeps a GPU from others, as one who uses it
without asking does; nobody can take one that another has. A lock on a file would need a directory
that every user can write to and nobody can tidy up.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Sequence

from ...private_directory import user_name

_NAME = "\0tfmesos-gpu-{}"
UNKNOWN = "a process that does not answer"
_CALLERS = 64  # that may wait for a launcher to let them go
_CREDENTIALS = struct.Struct("3i")  # of the other end: process, user and group


class GpuClaims:
    """Those of one run, until it closes them. Must be used within its event loop only."""

    def __init__(self) -> None:
        self._held: dict[str, socket.socket] = {}

    @property
    def is_supported(self) -> bool:
        return sys.platform == "linux"

    def take(self, gpu_ids: Sequence[str], number: int) -> tuple[str, ...]:
        """*number* of these GPUs, or none."""
        taken: dict[str, socket.socket] = {}
        for gpu in gpu_ids:
            if len(taken) < number and gpu not in self._held and (claim := self._claim(gpu)):
                taken[gpu] = claim
        if len(taken) < number:
            for claim in taken.values():
                claim.close()
            return ()
        for claim in taken.values():
            asyncio.get_running_loop().add_reader(claim, _let_go, claim)
        self._held |= taken
        return tuple(taken)

    def _claim(self, gpu: str) -> socket.socket | None:
        claim = socket.socket(socket.AF_UNIX)
        try:
            if self.is_supported:
                claim.bind(_NAME.format(gpu))
                claim.listen(_CALLERS)
                claim.setblocking(False)
        except OSError:  # somebody has it
            claim.close()
            return None
        return claim

    def others(self, gpu_ids: Sequence[str]) -> dict[str, str]:
        """Which of these GPUs other runs hold, and which runs, in words."""
        found = {gpu: _holder(gpu) for gpu in gpu_ids if gpu not in self._held}
        return {gpu: holder for gpu, holder in found.items() if holder}

    def close(self) -> None:
        for claim in self._held.values():
            asyncio.get_running_loop().remove_reader(claim)
            claim.close()
        self._held.clear()


def _is_taken(gpu: str) -> bool:
    """Does a process hold the name without accepting connections?"""
    name = _NAME.format(gpu).replace("\0", "@")
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
            return any(line.rstrip("\n").endswith(f" {name}") for line in table)
    except OSError:
        return False


def _let_go(claim: socket.socket) -> None:
    """By now the caller knows who we are."""
    try:
        claim.accept()[0].close()
    except OSError:
        pass  # it has left


def _holder(gpu: str) -> str:
    """Who has it, according to the kernel; empty if nobody does."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.setblocking(False)  # it may be stopped: a full queue is an answer, too
        try:
            asking.connect(_NAME.format(gpu))
            told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        except BlockingIOError:
            return "another run"
        except OSError:
            return UNKNOWN if _is_taken(gpu) else ""
    process, user, _ = _CREDENTIALS.unpack(told)
    return f"process {process} of {user_name(user)}"
