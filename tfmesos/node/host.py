"""What the runner finds out about its node."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .wire import Message

SHIP_DIR = "TFMESOS_SHIP_DIR"  # where a task finds the files that were shipped to it


def directory(message: Message, env: Mapping[str, str]) -> tuple[str, str]:
    """Where the task runs, and where it should: in a directory that the launcher names.

    It counts from that of the shipped files. If it cannot be entered, the sandbox has to do.
    """
    shipped, cwd = env.get(SHIP_DIR, ""), str(message.get("cwd") or "")
    wanted = os.path.join(shipped, cwd) if cwd else shipped
    for place in (wanted, os.environ.get("MESOS_SANDBOX")):
        if place and os.path.isdir(place) and os.access(place, os.X_OK):
            return place, wanted
    return os.getcwd(), wanted


def oom_kills() -> int:
    """How often the kernel killed for memory in our container; 0 where it does not tell."""
    for name in ("memory.events", "memory/memory.oom_control"):  # cgroups v2 and v1
        try:
            with open("/sys/fs/cgroup/" + name) as file:
                return sum(int(line[9:]) for line in file if line.startswith("oom_kill "))
        except (OSError, ValueError):
            pass
    return 0


def sees_gpu() -> bool:
    """Is there a driver to load, and a device?"""
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return os.path.exists("/dev/nvidiactl")
