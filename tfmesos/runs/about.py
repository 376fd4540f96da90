"""What is written down of a run before it begins."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Sequence

from ..config.launch import LaunchConfig
from ..config.secret import without_password
from ..json_types import Json
from ..version import __version__
from .launcher_process import this_process
from .values import to_json


def about(run_id: str, config: LaunchConfig, argv: Sequence[str], cwd: str, began: float) -> Json:
    return {
        "id": run_id,
        "began": began,
        "command": [without_password(word) for word in argv],
        "cwd": cwd,
        "name": config.name,
        "master": without_password(config.master),
        "jobs": {job.name: job.size for job in config.jobs},
        "launcher": to_json(this_process()),
        "versions": {"tfmesos": __version__, "python": platform.python_version()},
    }


def commit_of(directory: str) -> str:
    """What git has checked out there, with a + if files differ from it; empty without git."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty=+"],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return found.stdout.strip()
