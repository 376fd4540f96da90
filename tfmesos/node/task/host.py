"""What the runner finds out about its node."""

from __future__ import annotations

import os


def node() -> dict[str, str]:
    """The engine's name of the node, if the engine learns it from us."""
    name = os.environ.get("SLURMD_NODENAME")
    return {"node": name} if name else {}


def oom_kills() -> int:
    """How often the kernel killed processes in our container to free memory; 0 if unknown."""
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
