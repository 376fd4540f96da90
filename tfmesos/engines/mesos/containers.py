"""The container of a task, in the JSON of Mesos: image, volumes, user, GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...config.launch_config import LaunchConfig
from ...config.volumes import Volume
from ...json_types import Json
from .offers import Seat

# So that users have the same names everywhere; the nodes are expected to agree on them.
_SHARED = (Volume("/etc/passwd", "/etc/passwd", True), Volume("/etc/group", "/etc/group", True))


def container_info(config: LaunchConfig, seat: Seat) -> Json | None:
    """None without an image: a plain process sees the node's own files."""
    image_name = config.image_of(seat.task.job)
    if image_name is None:
        return None
    container: Json = {"volumes": [_volume(v) for v in (*_SHARED, *config.volumes)]}
    if config.containerizer == "DOCKER":
        return {**container, "type": "DOCKER", "docker": _docker(config, image_name, seat)}
    image = {
        "type": "DOCKER",
        "docker": {"name": image_name},
        "cached": not config.force_pull_image,
    }
    return {**container, "type": "MESOS", "mesos": {"image": image}}


def choice(config: LaunchConfig, named: Callable[[str], str]) -> str:
    """Which containerizer is used, if the user did not choose one; else nothing.

    *named* returns the user's name of a setting: its flag, or its field.
    """
    if config.remark:
        return config.remark
    if not config.images or config.containerizer is not None:
        return ""
    images = " and ".join(config.images)
    who = "the tasks" if config.all_in_images else "the tasks with an image"
    other = f"{named('containerizer_type')} DOCKER: by Docker"
    return f"{who} run in {images} by the Mesos containerizer ({other})"


def doubtful_gpus(config: LaunchConfig, seats: Sequence[Seat], named: Callable[[str], str]) -> str:
    """A warning about GPUs that are assigned only by number; else nothing."""
    if not config.images or config.containerizer != "DOCKER":
        return ""
    if all(seat.gpu_ids or not seat.task.job.gpus for seat in seats):
        return ""
    return (
        "Docker itself picks the GPUs of the tasks, and may give the same one to two of them: "
        "the agent does not name its GPUs (gpus:{UUID,...} in its --resources); "
        f"{named('containerizer_type')} MESOS is safe"
    )


def _docker(config: LaunchConfig, image: str, seat: Seat) -> Json:
    parameters = {"memory-swap": "-1"}
    if config.task_user is not None:
        parameters["user"] = config.task_user
    if seat.task.job.gpus:
        parameters["gpus"] = _devices(seat)
    return {
        "image": image,
        "network": "HOST",
        "force_pull_image": config.force_pull_image,
        "parameters": [{"key": key, "value": value} for key, value in parameters.items()],
    }


def _devices(seat: Seat) -> str:
    """The value of ``docker run --gpus``, which reads it as a line of CSV: hence the quotes."""
    if not seat.gpu_ids:
        return str(seat.task.job.gpus)
    devices = f"device={','.join(seat.gpu_ids)}"
    return f'"{devices}"' if "," in devices else devices


def _volume(volume: Volume) -> Json:
    return {
        "host_path": volume.host,
        "container_path": volume.container,
        "mode": "RO" if volume.read_only else "RW",
    }
