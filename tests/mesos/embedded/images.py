"""What a task with an image means to the docker command. Nothing here does I/O.

Both containerizers' tasks run on the engine: a genuine agent tells them apart in how it runs
them, not in what they see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from tfmesos.json_types import Json
from tfmesos.record import Record

from .entities import Task

SANDBOX = "/mnt/mesos/sandbox"  # where a task with an image finds its sandbox
OWNER, MESOS, TASK = "org.tfmesos.owner", "org.tfmesos.engines.mesos", "org.tfmesos.task"


class Surroundings(Record):
    """What a container gets besides what its task says."""

    sandbox: str  # on this machine
    user: Sequence[str]  # the arguments for it
    labels: Mapping[str, str]
    variables: Sequence[str]  # NAME, or NAME=VALUE
    cpus: float  # of the machine


def is_elsewhere(engine: str) -> bool:
    """Is the engine of this address on another machine?"""
    url = urlsplit(engine)
    return bool(url.hostname) and url.hostname not in ("localhost", "127.0.0.1", "::1")


def must_pull(info: Json) -> bool:
    """Is it to be pulled even if it is there?"""
    container = info["container"]
    if container["type"] == "DOCKER":
        return bool(container["docker"].get("force_pull_image", False))
    return not container["mesos"]["image"].get("cached", True)


def name_of(task: Task) -> str:
    """Of its container: readable, and no other one's."""
    readable = re.sub(r"[^A-Za-z0-9_.-]", "-", task.id).lstrip("-_.")[:100]
    return f"{readable or 'task'}-{task.container_id[:8]}"


def host_paths(info: Json) -> list[str | None]:
    """Those of its volumes; None for a volume that is none of the host's."""
    return [volume.get("host_path") for volume in info["container"].get("volumes", [])]


def create_arguments(task: Task, around: Surroundings) -> list[str]:
    """The arguments of ``docker create``."""
    info = task.info
    cpus = max(min(task.resources.scalar("cpus"), around.cpus), 0.01)
    memory = max(int(task.resources.scalar("mem") * 2**20), 6 * 2**20)  # the least Docker takes
    return [
        *("create", "--rm", "--name", name_of(task), "--log-driver", "none"),
        *("--cpus", f"{cpus:.2f}", "--memory", f"{memory}b"),
        *("--workdir", SANDBOX, *around.user, *_mounts(info, around.sandbox)),
        *(word for pair in around.labels.items() for word in ("--label", "=".join(pair))),
        *(word for variable in around.variables for word in ("--env", variable)),
        *_network(info),
        *_parameters(info, task.gpu_ids),
        *_command(task),
    ]


def user_of(task: Task) -> str | None:
    """Whose name was given for it, by whichever way."""
    parameters = task.info["container"].get("docker", {}).get("parameters", [])
    named = (p["value"] for p in parameters if p["key"] == "user")
    command, framework = task.info["command"].get("user"), task.framework.info.get("user")
    return next(named, None) or command or framework


def _mounts(info: Json, sandbox: str) -> list[str]:
    mounts = [_mount(sandbox, SANDBOX, False)]
    for volume in info["container"].get("volumes", []):
        target = volume["container_path"]
        below = target if target.startswith("/") else f"{SANDBOX}/{target}"
        mounts.append(_mount(volume["host_path"], below, volume.get("mode") == "RO"))
    return [word for mount in mounts for word in ("--mount", mount)]


def _mount(source: str, target: str, read_only: bool) -> str:
    """One line of CSV, as docker reads it."""
    fields = ["type=bind", f"source={source}", f"target={target}"]
    fields += ["readonly"] if read_only else []
    return ",".join(_quoted(field) for field in fields)


def _quoted(field: str) -> str:
    doubled = field.replace('"', '""')
    return f'"{doubled}"' if set(field) & set(',"') else field


def _network(info: Json) -> list[str]:
    docker = info["container"].get("docker", {})
    network = str(docker.get("network", "HOST")).lower()
    return ["--network", network, *(["--privileged"] if docker.get("privileged") else [])]


def _parameters(info: Json, gpu_ids: Sequence[str]) -> list[str]:
    """Those of the task, but the GPUs are the ones we picked."""
    given = info["container"].get("docker", {}).get("parameters", [])
    words = [f"--{p['key']}={p['value']}" for p in given if p["key"] not in ("user", "gpus")]
    gpus = next((p["value"] for p in given if p["key"] == "gpus"), "")
    if gpu_ids:
        gpus = _quoted(f"device={','.join(gpu_ids)}")
    return [*words, *([f"--gpus={gpus}"] if gpus else [])]


def _command(task: Task) -> list[str]:
    command, image = task.info["command"], task.image or ""
    value = command.get("value", "")
    if command.get("shell", True):
        return ["--entrypoint", "/bin/sh", image, "-c", value]
    arguments = command.get("arguments") or []
    if task.is_docker:
        return [image, *([value] if value else []), *arguments]
    return ["--entrypoint", value, image, *arguments[1:]]  # the first one is its name
