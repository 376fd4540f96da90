"""What the container of a task requests, and its limits.

Memory: what it asks for. CPU: as much as the node has to spare. A CPU limit does more than slow a
task down on average: TensorFlow has a thread for each core of the node; together they use up the
quota of a 100 ms period early, and then all of them stand still.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ....config.job import DEFAULT_CPUS, DEFAULT_MEM, TENSORBOARD, Job
from ....config.kubernetes_settings import LIMIT_OF_REQUEST, NO_LIMIT
from ....config.launch_config import LaunchConfig
from ....json_types import Json
from ..pod_status import CONTAINER
from ..quota import amount
from .template import container_of, of_job

_BOARD_CPUS, _BOARD_MEM = 1000, 2048.0  # thousandths and MiB that a TensorBoard may use
_MIB = 2**20
_CPU_LIMIT = re.compile(
    r"must specify [\w.,]*\blimits\.cpu\b"  # a quota
    r"|must be less than or equal to cpu limit"  # a LimitRange, whose default is below the request
    r"|cpu max limit to request ratio per Container"
)


def resources(config: LaunchConfig, job: Job) -> Json:
    """TensorBoard asks for little, and is mostly idle."""
    needs = _amounts(config, job, job.needs.cpus, job.mem)
    is_board = job.task_type == TENSORBOARD
    limits = _amounts(config, job, None, max(job.mem, _BOARD_MEM) if is_board else job.mem)
    return {"requests": needs, "limits": {**_cpu_limit(config, job), **limits}}


def _cpu_limit(config: LaunchConfig, job: Job) -> dict[str, str]:
    limit, cpus = config.pods.cpu_limit, job.needs.cpus
    if limit == NO_LIMIT:
        return {}
    if job.task_type == TENSORBOARD:
        cpus = max(cpus, _BOARD_CPUS)
    return {"cpu": f"{cpus if limit == LIMIT_OF_REQUEST else round(float(limit) * 1000)}m"}


def _amounts(config: LaunchConfig, job: Job, cpus: int | None, mem: float) -> dict[str, str]:
    amounts = {} if cpus is None else {"cpu": f"{cpus}m"}
    amounts["memory"] = size(mem)
    if job.disk:
        amounts["ephemeral-storage"] = size(job.disk)
    if job.gpus:
        amounts[config.pods.gpu_resource] = str(job.gpus)
    return amounts


def size(mebibytes: float) -> str:
    return f"{int(mebibytes)}Mi" if mebibytes == int(mebibytes) else str(round(mebibytes * _MIB))


def demands_cpu_limit(refusal: str) -> bool:
    """Does the namespace accept only pods that limit their CPU?"""
    return bool(_CPU_LIMIT.search(refusal))


def with_cpu_limit(pod: Json) -> Json:
    """*pod* with the limit that such a namespace requires: the request of our container."""
    spec = pod["spec"]
    containers = [_limited(one) for one in spec["containers"]]
    return {**pod, "spec": {**spec, "containers": containers}}


def _limited(container: Json) -> Json:
    if container.get("name") != CONTAINER:
        return container
    asked = container["resources"]
    limits = {"cpu": asked["requests"]["cpu"], **asked["limits"]}
    return {**container, "resources": {**asked, "limits": limits}}


# What a template says about it


def sized(config: LaunchConfig) -> LaunchConfig:
    """With the amounts of the pod templates for jobs whose own were left at their defaults."""
    return config.replace(jobs=tuple(_sized(job, config) for job in config.jobs))


def _sized(job: Job, config: LaunchConfig) -> Job:
    spec = of_job(config, job).get("spec")
    said = container_of(spec).get("resources") if isinstance(spec, Mapping) else None
    asked, limits = _part(said, "requests"), _part(said, "limits")
    cpus = _first("cpu", asked) or min(job.cpus, _first("cpu", limits) or job.cpus)
    mem = (_first("memory", limits, asked) or 0.0) / _MIB
    found = {}
    if job.cpus == DEFAULT_CPUS and cpus != job.cpus:
        found["cpus"] = cpus
    if job.mem == DEFAULT_MEM and mem:
        found["mem"] = mem
    return job.replace(**found) if found else job


def _first(name: str, *places: Mapping[str, Any]) -> float | None:
    return next((amount(str(place[name])) for place in places if name in place), None)


def _part(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}
