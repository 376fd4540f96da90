"""Compares what a run asks for with what this machine has. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...config.job import Job
from ...errors import ResourcesError

RUNNER_MEMORY = 6  # MiB for the runner and guard of a task, without what all of them share
_WAY_OUT = "ask for fewer, or name a cluster that has them with -m"


def total(jobs: Iterable[Job], kind: str) -> float:
    return float(sum(getattr(job, kind) * job.size for job in jobs))


def least_gpus(jobs: Iterable[Job]) -> int:
    """The tasks that must start together."""
    return sum(job.gpus * job.least_size for job in jobs)


def excess(jobs: Sequence[Job], has: Mapping[str, float]) -> str:
    """What the jobs explicitly ask for beyond what the machine *has*."""
    beyond = []
    for kind, amount in has.items():
        usual = Job._defaults[kind]
        wanted = total([job for job in jobs if getattr(job, kind) != usual], kind)
        if wanted > amount:
            beyond.append(f"{kind} {wanted:.10g} (it has {amount:.0f})")
    return ", ".join(beyond)


def check_number(tasks: int, memory: float) -> None:
    """Refuse at once a run that would use up the memory of the machine."""
    needed = tasks * RUNNER_MEMORY
    if needed > memory:
        raise ResourcesError(
            f"the runners of {tasks:,} tasks need about {needed:,} MiB of memory, but this machine "
            f"has {memory:,.0f}: {_WAY_OUT}"
        )


def check_gpus(wanted: float, there: int) -> None:
    """Refuse more GPUs than there are, because the wait for them would never end."""
    if wanted > there:
        raise ResourcesError(
            f"the tasks ask for {wanted:g} GPUs, but this machine has {there}: {_WAY_OUT}"
        )
