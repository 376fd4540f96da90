"""What is recorded about a run before it begins."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..config.launch_config import LaunchConfig
from ..config.secret import without_password
from ..json_types import Json
from ..version import __version__
from .event_json import to_json
from .launcher_process import this_process

# Not settings of the run but of the screen, or recorded under other names.
_TOLD_ELSEWHERE = frozenset(
    [
        "master",
        "name",
        "user",
        "survive",
        "inherited_env",
        "own_python",
        "remark",
        "warnings",
        "cwd",
        "logs",
    ]
)


def about(
    run_id: str,
    config: LaunchConfig,
    argv: Sequence[str],
    arguments: Sequence[str] | None,
    cwd: str,
    began: float,
    shown: Sequence[str] | None = None,
) -> Json:
    """*shown* is the part of *argv* that the list of runs shows; None: all."""
    return {
        "id": run_id,
        "began": began,
        "command": list(map(without_password, argv)),
        "shown": list(map(without_password, argv if shown is None else shown)),
        "arguments": None if arguments is None else list(map(without_password, arguments)),
        "cwd": cwd,
        "name": config.name,
        "master": without_password(config.master),
        "jobs": {job.name: job.size for job in config.jobs},
        "survive": config.survive or 0,
        "settings": settings_of(config),
        "launcher": to_json(this_process()),
        "versions": {"tfmesos": __version__, "python": ".".join(map(str, sys.version_info[:3]))},
    }


def program() -> list[str]:
    """The command line of a program of the user's, as they would say it."""
    if "ipykernel" in sys.modules:
        return ["notebook"]
    return ["python", *(word for word in sys.argv if word)]


def settings_of(config: LaunchConfig) -> Json:
    """Settings that differ from their defaults, as strings: no secrets, only names of variables."""
    usual = LaunchConfig._defaults
    given = {name: value for name, value in config._values().items() if name in usual}
    told = {n: v for n, v in given.items() if n not in _TOLD_ELSEWHERE and v != usual[n]}
    return {name: _shown(value) for name, value in told.items()}


def _shown(value: Any) -> Any:
    if isinstance(value, bool | int | str):
        return without_password(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return sorted(value)
    return without_password(repr(value))


def write_commit(directory: str, file: Path) -> subprocess.Popen[bytes] | None:
    """Have git write the commit of *directory* there; nobody waits for it.

    It runs nothing that the configuration of an untrusted repository names.
    """
    nowhere = subprocess.DEVNULL
    with open(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
        try:
            return subprocess.Popen(
                ["git", "rev-parse", "HEAD"],
                cwd=directory,
                stdin=nowhere,
                stdout=out,
                stderr=nowhere,
            )
        except OSError:
            return None  # there is no git
