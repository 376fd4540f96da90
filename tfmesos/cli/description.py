"""A description of what would run where, for ``tfrun --dry-run``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..config.job import Job
from ..config.launch_config import LaunchConfig
from ..config.secret import without_password
from ..sanitize import plain_all
from ..shared.task_variables import tf_config
from ..text import count


def description(config: LaunchConfig) -> Iterator[str]:
    yield f"{count(config.size, 'task')} {_where(config)}"
    for job in config.jobs:
        if job.size:
            yield from map(_one_line, _of_job(config, job))


def _where(config: LaunchConfig) -> str:
    if config.engine.is_here:
        return "on this machine"
    return f"on {config.engine.title} at {without_password(config.master)}"


def _of_job(config: LaunchConfig, job: Job) -> Iterator[str]:
    first, last = job.tasks[0], job.tasks[-1]
    image = config.image_of(job)
    names = first.name if job.size == 1 else f"{first.name} to {last.name}, each"
    yield f"{names} with {job.needs}{f' in the image {image}' if image else ''}"
    yield f"    runs {_command(job)}"
    yield f"    in {_directory(config, job)}"
    for name, value in config.env_of(job).items():
        yield f"    with {name}={shlex.quote(value)}"
    if told := _tf_config(config, first.type, first.number):
        yield f"    {first.name} with TF_CONFIG={told}"


def _command(job: Job) -> str:
    if job.cmd is None:
        return "a TensorFlow server"
    return f"by a shell: {job.cmd}" if isinstance(job.cmd, str) else shlex.join(job.cmd)


def _directory(config: LaunchConfig, job: Job) -> str:
    cwd, is_given = config.directory_of(job), bool(job.cwd) or config.cwd_is_given
    if config.ship is not None:
        return f"{cwd if is_given else '.'} of the shipped files"
    if cwd is None:
        return "its sandbox, or in the working directory of its container"
    return cwd if is_given else f"{cwd} where the node has it, else in its sandbox"


def _tf_config(config: LaunchConfig, task_type: str, number: int) -> str | None:
    """With addresses that are yet to be known."""
    cluster: dict[str, list[str]] = {}
    for task in config.tasks:
        cluster.setdefault(task.type, []).append("HOST:PORT")
    is_whole = not any(job.start for job in config.jobs)
    return tf_config(cluster, task_type, number, is_whole, config.tf_config == "always")


def _one_line(text: str) -> str:
    return plain_all(text).replace("\n", "\\n")
