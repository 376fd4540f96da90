"""What this machine can offer."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile

from .cluster import AgentConfig

_RESERVED_MIB = 1024  # for everything else on the machine


def this_machine(
    cpus_at_least: float = 0.0,
    mem_at_least: float = 0.0,
    disk_at_least: float = 0.0,
    *,
    look_for_gpus: bool = True,
    hostname: str | None = None,
    attributes: str = "",
    ports: str | None = None,
) -> tuple[AgentConfig, bool]:
    """The agent for this machine, and whether it promises more than there is.

    Memory and disk in MiB, *ports* like "31000-32000". GPUs are not promised beyond what there is:
    a job that wants one and gets none would fail much later.
    """
    gpus = gpu_ids() if look_for_gpus else ()
    cpus, mem, disk = float(cpu_count()), memory(), free_disk()
    wanted = (cpus_at_least, mem_at_least, disk_at_least)
    overcommits = any(a > b for a, b in zip(wanted, (cpus, mem, disk), strict=True))
    parts = [f"cpus:{max(cpus, cpus_at_least):.3f}", f"mem:{max(mem, mem_at_least):.0f}"]
    parts.append(f"disk:{max(disk, disk_at_least):.0f}")
    if gpus:
        parts.append(f"gpus:{len(gpus)}")
    if ports:
        parts.append(f"ports:[{ports}]")
    name = hostname or socket.gethostname()
    return AgentConfig(name, ";".join(parts), attributes, gpus), overcommits


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


def gpu_ids() -> tuple[str, ...]:
    """The GPUs nvidia-smi lists, less those that CUDA_VISIBLE_DEVICES keeps from us.

    Asking it may take a second: nobody should who wants no GPU.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.findall(r"^GPU \d+:.*\(UUID: (\S+)\)", listed.stdout.decode(), re.M)
    return _visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def _visible(found: list[str], chosen: str | None) -> tuple[str, ...]:
    """As CUDA reads it: numbers or beginnings of names, up to the first that means nothing."""
    if chosen is None:
        return tuple(found)
    visible: list[str] = []
    for word in (word.strip() for word in chosen.split(",")):
        is_number = word.isdecimal() and int(word) < len(found)
        named = (
            [found[int(word)]] if is_number else [f for f in found if word and f.startswith(word)]
        )
        if len(named) != 1:
            break
        visible += named
    return tuple(visible)
