"""Constraints of a job, as options of sbatch and srun. Nothing here does I/O.

Slurm knows nodes by their names and by their features, which are words without values; so FIELD is
``hostname`` or ``feature``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...config.constraints import HOSTNAME, Constraint, Node
from ...config.job import Job
from ...errors import SpecError
from .api.answers import KnownNode

FEATURE = "feature"


def check(job: Job) -> None:
    """SpecError for a constraint that Slurm does not support."""
    for constraint in job.constraints:
        if constraint.field not in (HOSTNAME, FEATURE):
            problem = f"{constraint} is not supported on Slurm: use {HOSTNAME} and {FEATURE}"
            raise SpecError(job.name, "constraints", problem)
        if constraint.field == FEATURE and not constraint.is_fixed:
            problem = f"{constraint} is not supported on Slurm: features have no values there"
            raise SpecError(job.name, "constraints", problem)


def options(
    job: Job, tasks: int, nodes: Sequence[KnownNode], avoid: Sequence[str] = ()
) -> tuple[str, ...]:
    """The options for the component of *job*, which has this many *tasks*."""
    fixed = [one for one in job.constraints if one.is_fixed]
    excluded = [node.name for node in nodes if not all(_admits(one, node) for one in fixed)]
    excluded += [name for name in avoid if name not in excluded]
    chosen = [f"--exclude={','.join(excluded)}"] if excluded else []
    return (*chosen, *(option for one in job.constraints for option in _spread(one, tasks)))


def obstacle(job: Job, nodes: Sequence[KnownNode]) -> str:
    """Which constraint no node meets; empty if each is met by some."""
    for one in job.constraints:
        if one.is_fixed and nodes and not any(_admits(one, node) for node in nodes):
            return f"{job.name}: no Slurm node meets {one}"
    return ""


def _admits(constraint: Constraint, node: KnownNode) -> bool:
    if constraint.field == HOSTNAME:
        return constraint.admits(Node(node.name))
    seen = (constraint.admits(Node("", {FEATURE: feature})) for feature in node.features)
    return all(seen) if constraint.operator == "UNLIKE" else any(seen)


def _spread(constraint: Constraint, tasks: int) -> Iterator[str]:
    if constraint.chooses_value:
        yield "--nodes=1-1"
    elif (limit := constraint.limit(tasks)) is not None:
        yield f"--ntasks-per-node={limit}"
    elif constraint.operator == "GROUP_BY":
        yield "--spread-job"
