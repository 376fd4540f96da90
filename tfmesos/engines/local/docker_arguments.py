"""The arguments of the docker command for a task with an image. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ...config.volumes import Volume
from ...record import Record
from .task_launch import Launch

SANDBOX = "/mnt/mesos/sandbox"  # where a task with an image finds its sandbox
OWNER, RUN, TASK = "org.tfmesos.owner", "org.tfmesos.run", "org.tfmesos.task"
_LEAST_CPUS, _LEAST_MEMORY = 0.01, 6 * 2**20  # that Docker takes, the memory in bytes
# So that users have the same names in the container as on this machine:
_SHARED = (Volume("/etc/passwd", "/etc/passwd", True), Volume("/etc/group", "/etc/group", True))


class Surroundings(Record):
    """What a container gets besides what its task says."""

    user: Sequence[str]  # the arguments for it
    labels: Mapping[str, str]
    variables: Sequence[str]  # NAME, or NAME=VALUE
    volumes: Sequence[Volume]
    cpus: float  # of the machine


def is_elsewhere(engine: str) -> bool:
    """Is the engine of this address on another machine?"""
    url = urlsplit(engine)
    return bool(url.hostname) and url.hostname not in ("localhost", "127.0.0.1", "::1")


def name_of(launch: Launch) -> str:
    """The name of its container: readable and unique."""
    return launch.sandbox.name


def create_arguments(launch: Launch, around: Surroundings) -> list[str]:
    """The arguments of ``docker create``."""
    job = launch.task.job
    cpus = max(min(job.cpus, around.cpus), _LEAST_CPUS)
    memory = max(int(job.mem * 2**20), _LEAST_MEMORY)
    return [
        *("create", "--rm", "--name", name_of(launch), "--log-driver", "none"),
        *("--cpus", f"{cpus:.2f}", "--memory", f"{memory}b", "--memory-swap=-1"),
        *("--workdir", SANDBOX, *around.user),
        *_mounts(str(launch.sandbox), [*_SHARED, *around.volumes]),
        *(word for pair in around.labels.items() for word in ("--label", "=".join(pair))),
        *(word for variable in around.variables for word in ("--env", variable)),
        *("--network", "host", *_gpus(launch.gpu_ids)),
        *("--entrypoint", "/bin/sh", launch.image or "", "-c", launch.command),
    ]


def _mounts(sandbox: str, volumes: Sequence[Volume]) -> list[str]:
    mounts = [_mount(sandbox, SANDBOX, False)]
    mounts += [_mount(volume.host, volume.container, volume.read_only) for volume in volumes]
    return [word for mount in mounts for word in ("--mount", mount)]


def _mount(source: str, target: str, read_only: bool) -> str:
    """One line of CSV, as docker reads it."""
    fields = ["type=bind", f"source={source}", f"target={target}"]
    fields += ["readonly"] if read_only else []
    return ",".join(_quoted(field) for field in fields)


def _quoted(field: str) -> str:
    doubled = field.replace('"', '""')
    return f'"{doubled}"' if set(field) & set(',"') else field


def _gpus(gpu_ids: Sequence[str]) -> list[str]:
    return [f"--gpus={_quoted('device=' + ','.join(gpu_ids))}"] if gpu_ids else []
