"""This machine as an agent of the embedded Mesos."""

from __future__ import annotations

import socket

from tfmesos.engines.local.machine import amounts, gpu_ids

from .cluster import AgentConfig


def this_machine() -> AgentConfig:
    """With all that it has to offer."""
    has, gpus = amounts(), gpu_ids()
    parts = [f"cpus:{has['cpus']:.3f}", f"mem:{has['mem']:.0f}", f"disk:{has['disk']:.0f}"]
    if gpus:
        parts.append(f"gpus:{len(gpus)}")
    return AgentConfig(socket.gethostname(), ";".join(parts), gpu_ids=gpus)
