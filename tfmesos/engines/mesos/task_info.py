"""Task and offer -> the JSON that Mesos takes."""

from __future__ import annotations

from collections.abc import Mapping

from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...json_types import Json
from .containers import container_info
from .offers import Seat

# Seconds for which a master keeps our tasks, and their resources, after it lost us: the shortest
# within which we will be back. A new leader is there after a ZooKeeper session (10 s); we look
# for it every 5 s, and each of two candidates that hang costs 15 s until it is given up.
FAILOVER_TIMEOUT = 60.0


CAPABILITIES = (
    "GPU_RESOURCES",
    "MULTI_ROLE",
    "PARTITION_AWARE",
    "RESERVATION_REFINEMENT",
    "TASK_KILLING_STATE",
)


def framework_info(config: LaunchConfig, run_id: str, hostname: str) -> Json:
    principal = config.access.principal
    return {
        "user": config.task_user or config.user,
        "name": config.name,
        **({"principal": principal} if principal else {}),
        "roles": [config.role],
        "hostname": hostname,
        "checkpoint": True,
        "failover_timeout": max(FAILOVER_TIMEOUT, config.survive or 0.0),
        "capabilities": [{"type": name} for name in CAPABILITIES],
        "offer_filters": {config.role: {"min_allocatable_resources": _smallest(config)}},
        "labels": _labels(run_id),
    }


def _labels(run_id: str) -> Json:
    return {"labels": [{"key": "tfmesos_run", "value": run_id}]}


def _smallest(config: LaunchConfig) -> Json:
    """What an offer must contain to be useful: all that one task needs. Old masters ignore it."""
    needs = {job.needs for job in config.jobs if job.tasks}
    scalars = [
        {name: {"value": amount / 1000} for name, amount in one.named() if amount}
        for one in sorted(needs, key=str)
    ]
    return {"quantities": [{"quantities": quantities} for quantities in scalars]}


def task_info(
    config: LaunchConfig, run_id: str, task_id: str, agent_id: str, seat: Seat, command: Json
) -> Json:
    """The TaskInfo of *seat*; *command* is what starts the runner there."""
    info = {
        "name": f"{run_id}{seat.task.mesos_name}",
        "task_id": {"value": task_id},
        "agent_id": {"value": agent_id},
        "resources": list(seat.resources),
        "command": command,
        "kill_policy": {"grace_period": {"nanoseconds": int(config.kill_grace * 1e9)}},
        "labels": _labels(run_id),
    }
    if container := container_info(config, seat):
        info["container"] = container
    return info


def command_info(shell_command: str, environment: Mapping[str, str | Secret]) -> Json:
    variables = [{"name": name, "value": value} for name, value in environment.items()]
    return {
        "shell": True,
        "value": shell_command,
        "environment": {"variables": variables},
    }
