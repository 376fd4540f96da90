"""The embedded Mesos for one run: an agent with all its tasks ask for, and nobody else let in."""

from __future__ import annotations

import asyncio
import os
import pwd
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...config.job import Job
from ...config.launch import LaunchConfig
from ...config.secret import Secret
from ...config.volumes import Volume
from ...errors import ResourcesError, SpecError
from ...local import LocalMesos, amounts, installed_memory, this_machine

if TYPE_CHECKING:
    from ...local.docker import Docker

Credential = tuple[str, Secret]

RUNNER_MEMORY = 6  # MiB that runner and guard of a task take, without what all of them share


def embedded_mesos(
    config: LaunchConfig, run_id: str, say: Callable[[str], None]
) -> tuple[LocalMesos, Credential]:
    """A Mesos for this machine, to be entered, and the only credential it takes."""
    check_number(config.size, installed_memory())
    wanted = {kind: _sum(config.jobs, kind) for kind in ("cpus", "mem", "disk", "gpus")}
    agent = this_machine(wanted, look_for_gpus=wanted["gpus"] > 0)
    _check_gpus(wanted["gpus"], len(agent.gpu_ids))
    if beyond := excess(config.jobs, amounts()):
        say(f"the tasks ask for more than this machine has, and run all the same: {beyond}")
    secret = Secret(os.urandom(32).hex())
    return LocalMesos([agent], credential=(run_id, secret.reveal())), (run_id, secret)


def _sum(jobs: Iterable[Job], kind: str) -> float:
    return float(sum(getattr(job, kind) * job.size for job in jobs))


def excess(jobs: Sequence[Job], has: Mapping[str, float]) -> str:
    """What the jobs ask for beyond what the machine *has*; nobody asked for the defaults."""
    beyond = []
    for kind, amount in has.items():
        usual = Job._defaults[kind]
        wanted = _sum([job for job in jobs if getattr(job, kind) != usual], kind)
        if wanted > amount:
            beyond.append(f"{kind} {wanted:.10g} (it has {amount:.0f})")
    return ", ".join(beyond)


def check_number(tasks: int, memory: float) -> None:
    """Refuse at once what would only end, much later, in a machine without memory."""
    needed = tasks * RUNNER_MEMORY
    if needed > memory:
        raise ResourcesError(
            f"the runners of {tasks:,} tasks need about {needed:,} MiB of memory, this machine has "
            f"{memory:,.0f}: ask for fewer, or name a Mesos master that has them"
        )


async def provide_images(config: LaunchConfig, say: Callable[[str], None]) -> None:
    """Have what tasks with an image need before any of them starts; raises if it cannot be had."""
    from ...local.docker import Docker, NoEngine  # most runs have no image

    _check_volumes(config.volumes)
    _check_user(config.task_user or "")
    try:
        docker = Docker()
        await docker.check()
    except NoEngine as reason:
        needed = f"the image {config.images[0]} needs Docker on this machine, or a Mesos master"
        raise ResourcesError(f"{needed}: {reason}") from reason
    for image in config.images:
        if config.force_pull_image or not await docker.has(image):
            say(f"pulling {image}")
            await _pull(docker, image, config.start_timeout)


async def _pull(docker: Docker, image: str, within: float | None) -> None:
    from ...local.processes import Refusal

    try:
        async with asyncio.timeout(within):
            await docker.pull(image)
    except Refusal as refusal:
        problem = str(refusal.args[-1]).partition(": ")[2]
        raise SpecError(None, "image", f"cannot be had: {problem}") from refusal
    except TimeoutError:
        late = f"not started after {within:g} s: still pulling {image}"
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
