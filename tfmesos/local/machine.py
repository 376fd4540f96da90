"""What this machine can offer."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping

from ..record import NOTHING
from .cluster import AgentConfig

_RESERVED_MIB = 1024  # for everything else on the machine


def this_machine(
    at_least: Mapping[str, float] = NOTHING, *, look_for_gpus: bool = True
) -> AgentConfig:
    """The agent for this machine, which promises *at_least* these amounts.

    GPUs are not promised beyond what there is: a job that wants one and gets none would fail
    much later.
    """
    promised = {name: max(has, at_least.get(name, 0.0)) for name, has in amounts().items()}
    parts = [f"cpus:{promised['cpus']:.3f}", f"mem:{promised['mem']:.0f}"]
    parts.append(f"disk:{promised['disk']:.0f}")
    gpus = gpu_ids() if look_for_gpus else ()
    if gpus:
        parts.append(f"gpus:{len(gpus)}")
    return AgentConfig(socket.gethostname(), ";".join(parts), gpu_ids=gpus)


def amounts() -> dict[str, float]:
    """What it has to offer, memory and disk in MiB."""
    return {"cpus": float(cpu_count()), "mem": memory(), "disk": free_disk()}


def cpu_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def memory() -> float:
    """MiB to offer: what there is less some for the rest, as a genuine agent does it."""
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
