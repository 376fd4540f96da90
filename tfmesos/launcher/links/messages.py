"""The messages of the launcher to its runners: before and after they have registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...config.job import TENSORBOARD, Job, Task
from ...config.launch_config import LaunchConfig
from ...core.actions import ClusterSpec, StopRunner
from ...json_types import Json
from ...shared import link_timeouts, wire
from ...shared.handshake import NOBODY
from .exchange import Limits
from .task_environment import gpus_of_seat, task_environment


def runner_grace(config: LaunchConfig) -> float:
    """Seconds for which runner and launcher look for each other when they have lost touch."""
    return config.engine.reconnect_within


def silent_after(config: LaunchConfig) -> float:
    """Seconds without output after which a task counts as silent."""
    if config.hang_timeout is None:
        return link_timeouts.OUTPUT_SILENCE
    return min(link_timeouts.OUTPUT_SILENCE, config.hang_timeout / 2)


def limits_of(config: LaunchConfig, awaits_record: bool) -> Limits:
    """How long the launcher waits for its runners."""
    return Limits(
        grace=runner_grace(config),
        silent_after=silent_after(config),
        awaits_record=awaits_record,
    )


def stub_settings(
    run_id: str, launcher: str, task_id: str, owner: int | None, certificate: str = ""
) -> str:
    """What a task must know before it can ask for more; *owner* is our pid if it can see us.

    *certificate* is the hash of ours, if the link uses TLS.
    """
    seen = NOBODY if owner is None else owner
    is_dialled = launcher.startswith(":")
    seconds = link_timeouts.DIALLED_TIMEOUT if is_dialled else link_timeouts.CONNECT_TIMEOUT
    told = f"{launcher} {run_id} {task_id} {seconds:g} {seen} {certificate}"
    return told.rstrip()


def runner_settings(
    config: LaunchConfig, task: Task, port: int | None, gpu_ids: Sequence[str]
) -> Json:
    """What a runner receives when it has proved itself."""
    return {
        "job": task.job.name,
        "index": task.index,
        "type": task.type,
        "number": task.number,
        "port": port or task.job.wanted_port,
        "port_is_wish": bool(task.job.port) and not task.job.insists_on_port,
        "is_ready_when_it_listens": task.is_auxiliary,
        "is_private": config.hides(task),
        "env": gpus_of_seat(gpu_ids),
        "grace": max(runner_grace(config), config.survive or 0.0),
        "spills": bool(config.survive),
        # A pod has this time even if others end it; a task on Mesos may have only three seconds.
        "stop_grace": config.kill_grace if config.engine.leaves_grace else config.stop_grace,
        "stop_signal": config.stop_signal,
        "same_machine": config.engine.is_here,
        "has_directory": config.engine.gives_directory,
        "secrets": config.secrets,
        "bring": [] if task.is_auxiliary else list(config.bring),
        "bring_limit": config.bring_limit,
        "pause": None if task.is_auxiliary else config.pause_on_failure,
        "check": None if task.is_auxiliary else config.check,
        "check_env": config.env_of(task.job) if config.check else None,
    }


def prepare_message(config: LaunchConfig, task: Task) -> Json:
    """The environment in which a task runs."""
    job = task.job
    return {
        "type": "prepare",
        "env": task_environment(config, task),
        "user_env": config.env_of(job),
        "cwd": config.directory_of(job),
        "cwd_is_given": bool(job.cwd) or config.cwd_is_given,
        "in_image": config.image_of(job) is not None,
        "no_gpu": _without_gpu(config, job) if job.gpus else None,
        "forward": config.keeps_output or task in config.logs,
    }


def _without_gpu(config: LaunchConfig, job: Job) -> str:
    """The runner's message if it sees no GPU although its task was given one."""
    if config.image_of(job) is None:
        return (
            "no GPU is visible in this task: its node lacks the NVIDIA driver, or denies "
            "access to it"
        )
    if known := config.engine.gpus_in_images:
        way_out = known
    elif config.containerizer == "DOCKER":
        way_out = "its node needs the NVIDIA Container Toolkit"
    else:
        way_out = (
            "the Mesos containerizer provides the driver only in an image that sets "
            "NVIDIA_VISIBLE_DEVICES (ENV NVIDIA_VISIBLE_DEVICES=all in its Dockerfile), "
            "and only on an agent with the isolator gpu/nvidia"
        )
    return f"no GPU is visible in this task: {way_out}"


def start_message(config: LaunchConfig, task: Task, cluster: ClusterSpec) -> Json:
    """What a runner receives when all have registered."""
    job = task.job
    return {
        **prepare_message(config, task),
        "type": "start",
        "cluster": cluster if job.cmd is not None else _of_tensorflow(cluster),
        "starts": {job.task_type: job.start for job in config.jobs if job.start},
        "command": job.cmd,
        "releases_port": not config.reserves_port(job),
        "tf_config": config.tf_config,
        "serve": {"protocol": config.protocol, "cpus": job.cpus, "gpus": job.gpus},
        "initializer": config.initializer,
        "finalizer": config.finalizer,
        "copy_to": config.forward_addresses.get(task.mesos_name),
        "progress_every": config.progress_every,
    }


def _of_tensorflow(cluster: ClusterSpec) -> ClusterSpec:
    """The cluster for a bare server: it would wait for TensorBoard to answer."""
    return {name: addresses for name, addresses in cluster.items() if name != TENSORBOARD}


def start_frames(
    config: LaunchConfig, tasks: Iterable[tuple[str, Task]], cluster: ClusterSpec
) -> Iterator[tuple[str, bytes]]:
    """The start message of each task, encoded; only once for tasks that get the same one."""
    frames: dict[tuple[str, bool, str | None], bytes] = {}
    for task_id, task in tasks:
        key = (
            task.job.name,
            config.keeps_output or task in config.logs,
            config.forward_addresses.get(task.mesos_name),
        )
        if key not in frames:
            frames[key] = wire.encode(start_message(config, task, cluster))
        yield task_id, frames[key]


def stop_message(stop: StopRunner) -> Json:
    grace, reason, examine = stop.grace, stop.reason, stop.examine
    return {"type": "stop", "grace": grace, "reason": reason, "examine": examine}


def welcome_message(received: int, secret: bytes, settings: Mapping[str, Any] | None) -> Json:
    """The first message on each connection of a runner; *settings* only on the first one."""
    welcome = {"type": "welcome", "received": received, "secret": secret.hex()}
    if settings is None:
        return welcome
    secrets = settings.get("secrets")
    revealed = {"secrets": secrets.reveal()} if secrets else {}
    return {**welcome, "settings": {**settings, **revealed}}


def ack_message(received: int) -> Json:
    """How many numbered messages of the runner have arrived."""
    return {"type": "ack", "received": received}


def bye_message() -> Json:
    """The runner has reported its end, and may go."""
    return {"type": "bye"}
