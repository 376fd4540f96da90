"""Images of tasks: what srun starts in them. Nothing here does I/O.

Slurm itself knows no images. With pyxis, a plugin, srun has options for them; else Apptainer, a
command on the nodes, runs them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.job import Job
from ...config.launch_config import LaunchConfig

COMMANDS = ("apptainer", "singularity")  # the second is the older name of the first


def program(command: str, job: Job, config: LaunchConfig, apptainer: str) -> list[str]:
    """The last arguments of srun: the shell *command* of each task, in its image if it has one.

    *apptainer* is the path of that command, or empty: then pyxis is used.
    """
    shell = ["sh", "-c", command]
    image = config.image_of(job)
    if image is None:
        return shell
    mounts = ",".join(_mounts(config))
    if not apptainer:
        mounted = [f"--container-mounts={mounts}"] if mounts else []
        return [f"--container-image={image}", *mounted, *shell]
    bound = [f"--bind={mounts}"] if mounts else []
    gpus = ["--nv"] if job.gpus else []
    return [apptainer, "--silent", "exec", *bound, *gpus, _located(image), *shell]


def _mounts(config: LaunchConfig) -> Iterator[str]:
    for volume in config.volumes:
        yield f"{volume.host}:{volume.container}" + (":ro" if volume.read_only else "")


def _located(image: str) -> str:
    """As on the other engines, a plain name is that of an image in a Docker registry."""
    return image if image.startswith("/") or "://" in image else f"docker://{image}"
