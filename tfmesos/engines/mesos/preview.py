"""What a Mesos master would be sent, for ``tfrun --dry-run=mesos``."""

from __future__ import annotations

from collections.abc import Iterator

from ...config.job import Resources
from ...config.launch_config import LaunchConfig
from ...config.secret import without_password
from ...json_types import Json
from ...launcher.links.messages import stub_settings
from .offers import Seat
from .runner_command import runner_command
from .task_info import framework_info, task_info


def preview(config: LaunchConfig, hostname: str) -> Json:
    """Framework and tasks as they would be sent; Mesos ids, ports and secrets are made up."""
    tasks = []
    for task in config.tasks:
        seat = Seat(task, tuple(_resources(task.job.needs, config.role)), None)
        task_id = f"RUN-{task.job.name}-{task.index}-1"
        settings = stub_settings("RUN", "LAUNCHER:PORT", task_id, None)
        command = runner_command(config, task.job, settings, "(256 random bits)")
        tasks.append(task_info(config, "RUN", task_id, "AGENT", seat, command))
    framework = framework_info(config, "RUN", hostname)
    master = without_password(config.master)
    return {"master": master, "framework_info": framework, "task_infos": tasks}


def _resources(needs: Resources, role: str) -> Iterator[Json]:
    for name, amount in needs.named():
        if amount:
            scalar = {"value": amount / 1000}
            allocated = {"role": role}
            yield {
                "name": name,
                "type": "SCALAR",
                "scalar": scalar,
                "role": "*",
                "allocation_info": allocated,
            }
