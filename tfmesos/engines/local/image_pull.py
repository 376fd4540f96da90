"""Checks and prepares what tasks with an image need, before any of them starts."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable, Iterable

from ...config.launch_config import LaunchConfig
from ...config.volumes import Volume
from ...errors import ResourcesError, SpecError
from .docker import Docker, NoEngine
from .task_launch import NotStarted


async def provide_images(config: LaunchConfig, say: Callable[[str], None]) -> None:
    """Raises SpecError or ResourcesError if an image, or what it needs, is not available."""
    _check_volumes(config.volumes)
    _check_user(config.task_user or "")
    try:
        docker = Docker()
        await docker.check()
    except NoEngine as reason:
        needed = f"the image {config.images[0]} needs Docker on this machine, or a cluster (-m)"
        raise ResourcesError(f"{needed}: {reason}") from reason
    for image in config.images:
        if config.force_pull_image or not await docker.has(image):
            say(f"pulling {image}")
            await _pull(docker, image, config.start_timeout)


async def _pull(docker: Docker, image: str, within: float | None) -> None:
    try:
        async with asyncio.timeout(within):
            await docker.pull(image)
    except NotStarted as problem:
        raise SpecError(None, "image", f"cannot be used: {problem}") from problem
    except TimeoutError:
        late = f"not started after {within:g} s: still pulling {image}"
        raise ResourcesError(late) from None


def _check_volumes(volumes: Iterable[Volume]) -> None:
    for volume in volumes:
        if not os.path.exists(volume.host):
            problem = f"{volume.host}:{volume.container}: there is no {volume.host} on this machine"
            raise SpecError(None, "volumes", problem)


def _check_user(user: str) -> None:
    """A container knows the names in the /etc/passwd of this machine; a number needs no name."""
    name = user.partition(":")[0]
    if name and not name.isdecimal():
        try:
            pwd.getpwnam(name)
        except (KeyError, ValueError):  # ValueError: a NUL in it
            problem = f"{name!r}: there is no such user on this machine; give a number instead"
            raise SpecError(None, "user", problem) from None
