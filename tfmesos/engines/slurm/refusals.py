"""Refuses settings that Slurm does not support, before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from ...config.launch_config import LaunchConfig
from ...errors import SpecError
from . import node_choice


def check(config: LaunchConfig) -> None:
    """SpecError for the first of them."""
    for field, problem in _wrong(config):
        raise SpecError(None, field, problem)
    for job in config.jobs:
        node_choice.check(job)


def _wrong(config: LaunchConfig) -> Iterator[tuple[str, str]]:
    if config.task_user is not None:
        yield "user", f"{config.task_user!r} is not possible on Slurm: a job runs as its owner"
    if config.run_timeout is not None and config.slurm.time_limit:
        yield "slurm_options", "'--time' and a run timeout are mutually exclusive: give only one"
    if config.slurm.allocation and config.survive:
        within = f"Slurm job {config.slurm.allocation}, in which tfmesos runs"
        yield "survive", f"is not supported: the tasks end with {within}"
    if config.slurm.allocation and config.slurm.options:
        within = f"job {config.slurm.allocation} is used as it is"
        yield "slurm_options", f"cannot change an allocation: {within}; name a partition"
