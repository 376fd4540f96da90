"""Turns what all jobs of a foreign document have in common into settings of the run.

A flag then changes it in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .translation import Document, JobFileError, Key

EVERY_FAILURE: Document = {
    "restart_policy": "task",
    "restarts": "unlimited",
    "retry_codes": "1-255",
}

Jobs = Mapping[str, Document]
Mounts = Mapping[str, str]  # path in the container -> HOST:CONTAINER[:ro]


def take_fields(jobs: Jobs, names: Sequence[str]) -> Document:
    """The fields that are the same in all jobs, taken out of these."""
    shared: Document = {}
    for name in names:
        values: list[Any] = [job.get(name) for job in jobs.values()]
        if values and values[0] is not None and all(value == values[0] for value in values):
            shared[name] = values[0]
            for job in jobs.values():
                del job[name]
    return shared


def take_variables(jobs: Jobs) -> Document:
    """The variables that are the same in all jobs, taken out of these."""
    envs = [job.get("env", {}) for job in jobs.values()]
    first = envs[0].items() if envs else ()
    common = {name: value for name, value in first if all(e.get(name) == value for e in envs)}
    for job in jobs.values():
        env = {name: value for name, value in job.pop("env", {}).items() if name not in common}
        if env:
            job["env"] = env
    return {"env": common} if common else {}


def volumes_of(mounts: Sequence[tuple[Key, Mounts]], remarks: list[str]) -> Document:
    """The volumes of a run are mounted in every task; a notice says so if one did not ask."""
    all_mounts: dict[str, str] = {}
    for key, own in mounts:
        for path, mount in own.items():
            if all_mounts.setdefault(path, mount) != mount:
                problem = f"mounts another volume at {path}: all tasks of a run have the same ones"
                raise JobFileError(key, problem)
    if any(own != all_mounts for _, own in mounts):
        remarks.append(f"volumes are mounted in every task of the run: {', '.join(all_mounts)}")
    return {"volumes": list(all_mounts.values())} if all_mounts else {}
