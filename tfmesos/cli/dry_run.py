"""What a run would send to Mesos, or its document in another format: ``tfrun --dry-run``."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

from ..config.job import Resources
from ..config.launch import LaunchConfig
from ..config.secret import without_password
from ..errors import SpecError
from ..jobfiles.translation import Document, JobFileError
from ..json_types import Json
from ..launcher.messages import runner_command, stub_settings
from ..mesos.offers import Seat
from ..mesos.task_info import framework_info, task_info


def text_of_preview(config: LaunchConfig) -> str:
    return json.dumps(preview(config, socket.gethostname()), indent=2) + "\n"


def written(document: Document, format: str) -> str:
    """The run in a foreign format; what that has no word for is named by its flag."""
    from ..jobfiles import formats

    try:
        return formats.written(document, format)
    except JobFileError as error:
        if len(error.key) == 1:
            raise SpecError(None, error.field, error.problem) from None
        raise


def preview(config: LaunchConfig, hostname: str) -> Json:
    """Framework and tasks as they would be sent; ids of Mesos, ports and secrets are made up."""
    tasks = []
    for task in config.tasks:
        seat = Seat(task, tuple(_resources(task.job.needs, config.role)), None)
        task_id = f"RUN-{task.job.name}-{task.index}-1"
        settings = stub_settings("RUN", "LAUNCHER:PORT", task_id, None)
        command = runner_command(config, task.job, settings, "(256 random bits)")
        tasks.append(task_info(config, task_id, "AGENT", seat, command))
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
