"""Settings that have no meaning on Slurm, or another one: refused by name, before all."""

from __future__ import annotations

from collections.abc import Iterator

from ...config.launch_config import LaunchConfig
from ...config.settings import DEFAULTS
from ...config.slurm_settings import partition_of
from ...errors import SpecError
from . import node_choice

_NO_MEANING = "has no meaning on Slurm"


def check(config: LaunchConfig) -> None:
    """SpecError for the first of them."""
    partition_of(config.master)
    for field, problem in _wrong(config):
        raise SpecError(None, field, problem)
    for job in config.jobs:
        node_choice.check(job)


def _wrong(config: LaunchConfig) -> Iterator[tuple[str, str]]:
    if config.containerizer is not None:
        yield "containerizer_type", f"{_NO_MEANING}: images are run by pyxis"
    if config.force_pull_image:
        yield "force_pull_image", f"{_NO_MEANING}: pyxis keeps no images"
    if config.role != DEFAULTS["role"]:
        yield "role", f"{_NO_MEANING}: an account is an option of Slurm"
    access = config.access
    for field in ("principal", "ca_file", "cert_file", "key_file"):
        if getattr(access, field):
            yield field, f"{_NO_MEANING}: munge says who you are"
    if access.token:
        yield "token_file", f"{_NO_MEANING}: munge says who you are"
    if config.task_user is not None:
        yield "user", f"{config.task_user!r} is not possible on Slurm: a job runs as its owner"
    if config.run_timeout is not None and config.slurm.time_limit:
        yield "slurm_options", "'--time' and a run timeout exclude each other: give one"
    if config.slurm.allocation and config.slurm.options:
        within = f"job {config.slurm.allocation} is used as it is"
        yield "slurm_options", f"cannot change an allocation: {within}; name a partition"
