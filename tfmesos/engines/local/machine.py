"""What this machine has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile

_RESERVED_MIB = 1024  # for everything else on the machine


def amounts() -> dict[str, float]:
    """What it has for tasks, memory and disk in MiB."""
    return {"cpus": float(cpu_count()), "mem": memory(), "disk": free_disk()}


def cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def memory() -> float:
    """MiB for tasks: all of it, less some for everything else."""
    there = installed_memory()
    return float(max(there - _RESERVED_MIB, there / 2))


def installed_memory() -> float:
    """MiB."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20


def free_disk() -> float:
    """MiB that sandboxes can fill."""
    return float(shutil.disk_usage(tempfile.gettempdir()).free // 2**20)


def gpu_ids() -> tuple[str, ...]:
    """The GPUs nvidia-smi lists, less those that CUDA_VISIBLE_DEVICES keeps from us.

    Asking it may take a second, so ask only if a GPU is wanted.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        listed = subprocess.run([program, "-L"], capture_output=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ()
    found = re.findall(r"^GPU \d+:.*\(UUID: (\S+)\)", listed.stdout.decode(), re.M)
    return visible(found, os.environ.get("CUDA_VISIBLE_DEVICES"))


def visible(found: list[str], chosen: str | None) -> tuple[str, ...]:
    """As CUDA reads it: numbers or prefixes of names, up to the first invalid one."""
    if chosen is None:
        return tuple(found)
    seen: list[str] = []
    for word in (word.strip() for word in chosen.split(",")):
        is_number = word.isdecimal() and int(word) < len(found)
        named = (
            [found[int(word)]] if is_number else [f for f in found if word and f.startswith(word)]
        )
        if len(named) != 1:
            break
        seen += named
    return tuple(seen)
