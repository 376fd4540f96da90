"""The command that starts a runner on an agent, and how long it may be."""

from __future__ import annotations

import json
import shlex

from ...config.job import Job
from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...errors import SpecError
from ...json_types import Json
from ...launcher.links import payload
from ...launcher.links.messages import stub_settings
from ...shared.address import join_address
from .task_info import command_info

MAX_COMMAND = 3 * 1024  # bytes of a task's CommandInfo in JSON, whatever it is made of
LONGEST_RUN, LONGEST_ADDRESS = "tfmesos-ffffffff", 45


def runner_command(config: LaunchConfig, job: Job, settings: str, secret: Secret | str) -> Json:
    """The CommandInfo that starts a runner of *job*."""
    environment: dict[str, Secret | str] = {"TFMESOS_RUNNER": settings, "TFMESOS_SECRET": secret}
    return command_info(payload.command(config.python_of(job)), environment)


def check_room(config: LaunchConfig) -> None:
    """Refuse an interpreter whose path is too long; everything else is bounded."""
    host, _ = config.advertise or ("f" * LONGEST_ADDRESS, 0)
    longest = max(config.jobs, key=lambda job: len(job.name)).name
    task_id = f"{LONGEST_RUN}-{longest}-{10**9}-{10**6}"
    settings = stub_settings(LONGEST_RUN, join_address(host, 65535), task_id, 2**22, "f" * 64)
    job = max(config.jobs, key=lambda job: len(config.python_of(job)))
    excess = len(json.dumps(runner_command(config, job, settings, "0" * 64))) - MAX_COMMAND
    if excess > 0:
        size = len(json.dumps(shlex.quote(config.python_of(job)))) - 2
        room = f"the command of a task has room for {size - excess:,}"
        raise SpecError(None, "python", f"is too long: it takes {size:,} bytes, and {room}")
