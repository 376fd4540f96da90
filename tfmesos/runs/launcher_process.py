"""Identifies the process that holds a run, unmistakably across processes, boots and machines."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from ..record import Record

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class LauncherProcess(Record):
    host: str
    boot_id: str
    pid: int
    started: int  # in ticks since the boot

    @property
    def is_of_this_machine(self) -> bool:
        return self.host == socket.gethostname()

    @property
    def is_alive(self) -> bool | None:
        """None if the process is on another machine, about which nothing is known here."""
        if not self.is_of_this_machine:
            return None
        return self == this_process(self.pid)

    @property
    def is_stopped(self) -> bool:
        """Is it stopped until it gets SIGCONT?"""
        return self.is_of_this_machine and _fields(self.pid)[0] in "Tt"


def this_process(pid: int | None = None) -> LauncherProcess:
    """This process, or the one that has *pid* now."""
    pid = pid or os.getpid()
    return LauncherProcess(socket.gethostname(), _boot_id(), pid, _started(pid))


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return ""


def _started(pid: int) -> int:
    """When process *pid* started; -1 if there is none."""
    state, *fields = _fields(pid)
    return -1 if state in "ZX" else int(fields[18])


def _fields(pid: int) -> list[str]:
    """The fields of process *pid* in /proc, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ["X"]
