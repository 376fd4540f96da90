"""The embedded Mesos for one run: an agent with all its tasks ask for, and nobody else let in."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from .errors import ResourcesError
from .local import LocalMesos, this_machine
from .spec import LaunchConfig

Credential = tuple[str, str]


def embedded_mesos(
    config: LaunchConfig, run_id: str, say: Callable[[str], None]
) -> tuple[LocalMesos, Credential]:
    """A Mesos for this machine, to be entered, and the only credential it takes."""
    wanted = {
        kind: sum(getattr(job, kind) * len(job.tasks) for job in config.jobs)
        for kind in ("cpus", "mem", "disk", "gpus")
    }
    agent, is_overcommitted = this_machine(
        cpus_at_least=wanted["cpus"],
        mem_at_least=wanted["mem"],
        disk_at_least=wanted["disk"],
        look_for_gpus=wanted["gpus"] > 0,
    )
    _check_gpus(wanted["gpus"], len(agent.gpu_ids))
    if is_overcommitted:
        total = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items() if amount)
        say(f"the tasks ask for more than this machine has: {total}")
    credential = (run_id, secrets.token_hex(32))
    return LocalMesos([agent], credential=credential), credential


def _check_gpus(wanted: float, offered: int) -> None:
    """GPUs cannot be promised beyond what there is, so the wait would never end."""
    if wanted > offered:
        raise ResourcesError(
            f"the tasks ask for {wanted:g} gpus, this machine has {offered}: "
            "ask for fewer, or name a Mesos master that has them"
        )
