"""The embedded Mesos for one run: an agent with all its tasks ask for, and nobody else let in."""

from __future__ import annotations

import asyncio
import os
import pwd
import secrets
from collections.abc import Callable, Iterable

from ..config.launch import LaunchConfig, Volume
from ..config.secret import Secret
from ..errors import ResourcesError, SpecError
from ..local import LocalMesos, this_machine

Credential = tuple[str, Secret]


def embedded_mesos(
    config: LaunchConfig, run_id: str, say: Callable[[str], None]
) -> tuple[LocalMesos, Credential]:
    """A Mesos for this machine, to be entered, and the only credential it takes."""
    wanted = {
        kind: sum(getattr(job, kind) * len(job.tasks) for job in config.jobs)
        for kind in ("cpus", "mem", "disk", "gpus")
    }
    agent, is_overcommitted = this_machine(
        cpus_at_least=wanted["cpus"],
        mem_at_least=wanted["mem"],
        disk_at_least=wanted["disk"],
        look_for_gpus=wanted["gpus"] > 0,
    )
    _check_gpus(wanted["gpus"], len(agent.gpu_ids))
    if is_overcommitted:
        total = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items() if amount)
        say(f"the tasks ask for more than this machine has: {total}")
    secret = Secret(secrets.token_hex(32))
    return LocalMesos([agent], credential=(run_id, secret.reveal())), (run_id, secret)


async def provide_image(config: LaunchConfig, say: Callable[[str], None]) -> None:
    """Have what tasks with an image need before any of them starts; raises if it cannot be had."""
    from ..local.docker import Docker, NoEngine  # most runs have no image
    from ..local.processes import Refusal

    assert config.image is not None
    _check_volumes(config.volumes)
    _check_user(config.task_user or "")
    try:
        docker = Docker()
        await docker.check()
    except NoEngine as reason:
        needed = f"the image {config.image} needs Docker on this machine, or a Mesos master"
        raise ResourcesError(f"{needed}: {reason}") from reason
    if config.force_pull_image or not await docker.has(config.image):
        say(f"pulling {config.image}")
        try:
            async with asyncio.timeout(config.start_timeout):
                await docker.pull(config.image)
        except Refusal as refusal:
            problem = str(refusal.args[-1]).partition(": ")[2]
            raise SpecError(None, "image", f"cannot be had: {problem}") from refusal
        except TimeoutError:
            late = f"not started after {config.start_timeout:g} s: still pulling {config.image}"
            raise ResourcesError(late) from None


def _check_volumes(volumes: Iterable[Volume]) -> None:
    for volume in volumes:
        if not os.path.exists(volume.host):
            problem = f"{volume.host}:{volume.container}: there is no {volume.host} on this machine"
            raise SpecError(None, "volumes", problem)


def _check_user(user: str) -> None:
    """A container has the names of this machine, by its /etc/passwd; a number needs none."""
    name = user.partition(":")[0]
    if name and not name.isdecimal():
        try:
            pwd.getpwnam(name)
        except (KeyError, ValueError):  # ValueError: a NUL in it
            problem = f"{name!r}: there is no such user on this machine; a number would do"
            raise SpecError(None, "user", problem) from None


def _check_gpus(wanted: float, offered: int) -> None:
    """GPUs cannot be promised beyond what there is, so the wait would never end."""
    if wanted > offered:
        raise ResourcesError(
            f"the tasks ask for {wanted:g} gpus, this machine has {offered}: "
            "ask for fewer, or name a Mesos master that has them"
        )
