"""The environment of a task: what it inherits from the launcher, and which GPUs it may see."""

from __future__ import annotations

from collections.abc import Sequence

from ...config.entry_function import is_entry
from ...config.job import Task
from ...config.launch_config import LaunchConfig

_GPUS = "CUDA_VISIBLE_DEVICES"


def task_environment(config: LaunchConfig, task: Task) -> dict[str, str]:
    env = {} if config.image_of(task.job) else dict(config.inherited_env)
    if task.job.gpus:
        env.pop(_GPUS, None)  # which ones, the agent has said
    else:
        env[_GPUS] = ""  # a ps must never grab a GPU that is not its own
    env["TFMESOS_GENERATION"] = str(config.generation)
    if is_entry(task.job):
        env |= {"TFMESOS_CPUS": str(task.job.cpus), "TFMESOS_GPUS": str(task.job.gpus)}
    if config.hang_timeout is not None:
        env["PYTHONFAULTHANDLER"] = "1"  # prints the stack traces of a task that hangs
    return env


def gpus_of_seat(gpu_ids: Sequence[str]) -> dict[str, str]:
    """If an agent names its GPUs, it is up to us to keep tasks apart."""
    return {_GPUS: ",".join(gpu_ids)} if gpu_ids else {}
