"""The rows of the table of settings that are about pods on Kubernetes."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from ..record import NOTHING, Record
from .engine_kinds import KUBERNETES, SLURM
from .setting import ON_KUBERNETES, File, Seconds, Setting, Size, Text, above_zero

USUAL_GPU = "nvidia.com/gpu"
USUAL_HOLD = 60.0  # seconds
NO_LIMIT, LIMIT_OF_REQUEST = "none", "request"  # of the CPU that a task may use
SLURM_GPU = re.compile(r"gpu:[\w.-]+", re.ASCII)  # on Slurm: with its type


def resource_name(value: str) -> str:
    if SLURM_GPU.fullmatch(value):
        return ""
    is_good = value.isascii() and value.isprintable() and "/" in value.strip("/")
    return (
        "" if is_good and " " not in value else f"must be a name such as {USUAL_GPU}, got {value!r}"
    )


def label_text(value: str) -> str:
    """A check for the syntax of a label value on Kubernetes."""
    is_good = re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", value)
    return "" if is_good else f"must be a name of at most 63 letters and digits, got {value!r}"


def cpu_limit(value: Any) -> str:
    if value in (NO_LIMIT, LIMIT_OF_REQUEST) or not above_zero(_number(value)):
        return ""
    return f"must be {NO_LIMIT}, {LIMIT_OF_REQUEST} or a number above 0, got {value!r}"


def _number(value: Any) -> Any:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


class KubernetesSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    pod_template: Annotated[
        File,
        Setting(
            "YAML or JSON file with a Pod that the pods of the tasks are based on: image pull "
            "secrets, tolerations, priority class, annotations and anything else that has no flag",
            ("--pod-template",),
            ON_KUBERNETES,
            "FILE",
            engines=(KUBERNETES,),
        ),
    ]
    namespace: Annotated[
        Text,
        Setting(
            "Kubernetes namespace of the run, unless the master names one", engines=(KUBERNETES,)
        ),
    ]
    claims: Annotated[
        Iterable[str] | None,
        Setting(
            "mount this persistent volume claim in the tasks",
            ("--pvc",),
            ON_KUBERNETES,
            "NAME:PATH[:ro|rw]",
            default=(),
            is_repeatable=True,
            engines=(KUBERNETES,),
        ),
    ]
    shm: Annotated[
        Size,
        Setting(
            "size of /dev/shm in each task (MiB, or with a unit, as in 2G)",
            ("--shm",),
            ON_KUBERNETES,
            "SIZE",
            default_words="64 MiB",
            check=above_zero,
            engines=(KUBERNETES,),
        ),
    ]
    gpu_resource: Annotated[
        Text,
        Setting(
            "name of the GPU resource on the cluster; on Slurm, gpu:TYPE",
            ("--gpu-resource",),
            ON_KUBERNETES,
            "NAME",
            default=USUAL_GPU,
            check=resource_name,
            engines=(KUBERNETES, SLURM),
        ),
    ]
    gang_hold: Annotated[
        Seconds,
        Setting(
            "how long pods that have a node wait for the others before all are deleted and "
            "created again (seconds, or with a unit, as in 10m); increase this where nodes are "
            "added on demand",
            ("--gang-hold",),
            ON_KUBERNETES,
            "TIME",
            default=USUAL_HOLD,
            check=above_zero,
            engines=(KUBERNETES,),
        ),
    ]
    queue: Annotated[
        Text,
        Setting(
            "Kueue queue that admits the pods of the run, all at once",
            ("--queue",),
            ON_KUBERNETES,
            "NAME",
            check=label_text,
            engines=(KUBERNETES,),
        ),
    ]
    priority: Annotated[
        Text,
        Setting(
            "priority class of the pods on Kubernetes", check=label_text, engines=(KUBERNETES,)
        ),
    ]
    cpu_limit: Annotated[
        str | int | float | None,
        Setting(
            "CPU limit of a task on Kubernetes: none (whatever its node can spare), request (no "
            "more than the task asks for), or a number",
            default=NO_LIMIT,
            check=cpu_limit,
            engines=(KUBERNETES,),
        ),
    ]


class Claim(Record):
    """A persistent volume claim, mounted in each task at *path*."""

    name: str
    path: str
    read_only: bool = False


class PodSettings(Record):
    """Settings that apply only to pods on Kubernetes."""

    pod_template: Mapping[str, Any] = NOTHING  # what lies under them
    namespace: str | None = None  # unless the master names one
    claims: tuple[Claim, ...] = ()
    shm: float | None = None  # MiB of /dev/shm
    gpu_resource: str = USUAL_GPU
    gang_hold: float = USUAL_HOLD
    queue: str | None = None  # of Kueue
    priority: str | None = None  # the name of a class
    cpu_limit: str | float = NO_LIMIT


def parse_claims(given: Any) -> tuple[Claim, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(None, "claims", f"must be a list of NAME:PATH[:ro|rw], got {given!r}")
    return tuple(map(_claim, given))


def _claim(text: Any) -> Claim:
    name, *rest = text.split(":") if isinstance(text, str) else [""]
    is_good = name and len(rest) in (1, 2) and rest[0].startswith("/")
    if not is_good or rest[1:] not in ([], ["ro"], ["rw"]):
        raise SpecError(
            None, "claims", f"must be NAME:PATH[:ro|rw] with an absolute PATH, got {text!r}"
        )
    return Claim(name, rest[0], rest[1:] == ["ro"])
