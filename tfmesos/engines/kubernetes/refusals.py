"""Refuses settings that Kubernetes does not support, before anything starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...config.job import TENSORBOARD
from ...config.kubernetes_settings import SLURM_GPU
from ...config.launch_config import LaunchConfig
from ...errors import SpecError
from .pods import affinity

MAX_ID = 2**31 - 1  # of users and groups, to Kubernetes
_OWN_ADDRESS = (
    "'task' is not supported on Kubernetes: a restarted pod has another address, where "
    "the others do not look for it; use 'all'"
)

_ONE_PORT = (
    "has hostNetwork: true, which needs advertise, or a launcher in the cluster: the tasks of a "
    "node would wait for the launcher on the same port"
)


def check(config: LaunchConfig) -> None:
    """SpecError for the first of them."""
    for field, problem in _wrong(config):
        raise SpecError(None, field, problem)
    for job in config.jobs:
        if job.restart_policy == "task" and job.task_type != TENSORBOARD:  # nobody looks for that
            raise SpecError(job.name, "restart_policy", _OWN_ADDRESS)
        if job.size and config.image_of(job) is None:
            problem = "is needed on Kubernetes, where every task runs in a container"
            raise SpecError(None, "image", problem)
        affinity.check(job)


def check_ports(config: LaunchConfig) -> None:
    """SpecError if we must connect to tasks that share the ports of their nodes."""
    of_run = _shares_ports(config.pods.pod_template)
    sharing = []
    for job in config.jobs:
        of_job = _shares_ports(json.loads(str(job.pod_template or "{}")))
        if job.size and (of_run if of_job is None else of_job):
            sharing.append(job)
    if sum(job.size for job in sharing) > 1:
        raise SpecError(None if of_run else sharing[0].name, "pod_template", _ONE_PORT)


def _shares_ports(template: Mapping[str, Any]) -> bool | None:
    """None if it does not say."""
    spec = template.get("spec")
    found = spec.get("hostNetwork") if isinstance(spec, Mapping) else None
    return None if found is None else found is True


def _wrong(config: LaunchConfig) -> Iterator[tuple[str, str]]:
    if SLURM_GPU.fullmatch(config.pods.gpu_resource):
        problem = f"{config.pods.gpu_resource!r} is a resource of Slurm, not of Kubernetes"
        yield "gpu_resource", problem
    if config.restarts.after_start == "task":
        yield "restart_policy", _OWN_ADDRESS
    if config.task_user is not None and not _are_ids(config.task_user):
        problem = "must be a number on Kubernetes, as in 1000 or 1000:1000"
        yield "user", f"{problem}, got {config.task_user!r}"
    yield from _about_links(config)


def _are_ids(user: str) -> bool:
    is_number = re.fullmatch(r"\d{1,10}(:\d{1,10})?", user, re.A)
    return bool(is_number) and all(int(one) <= MAX_ID for one in user.split(":"))


def _about_links(config: LaunchConfig) -> Iterator[tuple[str, str]]:
    """Without an address for the pods the links go through the API server."""
    if config.advertise is not None:
        return
    if config.local_chief:
        yield "local_chief", "needs advertise on Kubernetes: the pods must reach this machine"
