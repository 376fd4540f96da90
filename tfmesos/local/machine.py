"""What this machine can offer."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile

from .cluster import AgentConfig

_RESERVED_MIB = 1024  # for everything else on the machine


def this_machine(
    cpus_at_least: float = 0.0,
    mem_at_least: float = 0.0,
    gpus_at_least: int = 0,
    disk_at_least: float = 0.0,
    *,
    hostname: str | None = None,
    attributes: str = "",
    ports: str | None = None,
) -> tuple[AgentConfig, bool]:
    """The agent for this machine, and whether it promises more than there is.

    Memory and disk in MiB, *ports* like "31000-32000". GPUs are not promised beyond what there is,
    unless *gpus_at_least* says so: a job that wants one and gets none would fail much later.
    """
    cpus, mem, gpus, disk = float(cpu_count()), memory(), gpu_count(), free_disk()
    wanted = (cpus_at_least, mem_at_least, gpus_at_least, disk_at_least)
    overcommits = any(a > b for a, b in zip(wanted, (cpus, mem, gpus, disk), strict=True))
    parts = [f"cpus:{max(cpus, cpus_at_least):.3f}", f"mem:{max(mem, mem_at_least):.0f}"]
    parts.append(f"disk:{max(disk, disk_at_least):.0f}")
    if max(gpus, gpus_at_least):
        parts.append(f"gpus:{max(gpus, gpus_at_least)}")
    if ports:
        parts.append(f"ports:[{ports}]")
    name = hostname or socket.gethostname()
    return AgentConfig(name, ";".join(parts), attributes), overcommits


def cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def memory() -> float:
    """MiB to offer: what there is less some for the rest, as a genuine agent does it."""
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    return float(max(there - _RESERVED_MIB, there / 2))


def free_disk() -> float:
    """MiB that sandboxes can fill."""
    return float(shutil.disk_usage(tempfile.gettempdir()).free // 2**20)


def gpu_count() -> int:
    program = shutil.which("nvidia-smi")
    if program is None:
        return 0
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return 0
    return sum(line.startswith(b"GPU ") for line in listed.stdout.splitlines())
