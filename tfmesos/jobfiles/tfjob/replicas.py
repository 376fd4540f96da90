"""Turns replicas of a TFJob into a run: what they share becomes settings, the rest jobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ...record import NOTHING, Record
from ..common_settings import take_fields, take_variables, volumes_of
from ..parts import Part
from ..translation import Beside, Document, JobFileError, Key, Translation
from .pods import Pod

# What the operator calls them, and the name of our job, which is the task type in TF_CONFIG.
TYPES = {"Chief": "chief", "Master": "master", "Worker": "worker", "PS": "ps"}
TYPES["Evaluator"] = "evaluator"
CHIEFS = ("chief", "master")

_SHARED = ("image", "cwd", "restart_policy", "restarts", "retry_codes")
_ANY_FAILURE, _RETRYABLE = "1-255", "128-255"  # exit codes


class Replica(Record):
    """The tasks of one type."""

    job: str
    num: int
    pod: Pod | None  # None: a bare TensorFlow server
    key: Key
    more: Mapping[str, Any] = NOTHING  # fields of the job


def type_of(text: str, key: Key) -> str:
    """The job of a replica type, however it is spelled."""
    found = {name.lower(): job for name, job in TYPES.items()}.get(text.lower())
    if found is None:
        raise JobFileError(key, f"must be one of {', '.join(TYPES)}, got {text!r}")
    return found


def restarts(policy: str, limit: int | None, key: Key) -> Document:
    """The restart settings that correspond to a policy of the operator."""
    if policy == "Never":
        return {}
    codes = {"Always": _ANY_FAILURE, "OnFailure": _ANY_FAILURE, "ExitCode": _RETRYABLE}.get(policy)
    if codes is None:
        problem = f"must be Always, OnFailure, Never or ExitCode, got {policy!r}"
        raise JobFileError(key, problem)
    return {
        "restart_policy": "task",
        "retry_codes": codes,
        "restarts": "unlimited" if limit is None else limit,
    }


def check(replicas: Sequence[Replica]) -> None:
    """Refuse what the operator, or TensorFlow, would refuse."""
    seen: dict[str, Replica] = {}
    for one in replicas:
        if one.job in seen:
            raise JobFileError(one.key, f"is a duplicate: {one.job} is given twice")
        seen[one.job] = one
        if one.job in (*CHIEFS, "evaluator") and one.num > 1:
            raise JobFileError((*one.key, "replicas"), f"must be 1, got {one.num}")
        if one.job == "ps" and one.pod and one.pod.fields.get("gpus"):
            key = one.pod.origins["gpus"]
            raise JobFileError(key, "must ask for no GPUs: a PS only holds variables")
    if len(chiefs := [seen[job] for job in CHIEFS if job in seen]) > 1:
        raise JobFileError(chiefs[1].key, "is a second chief: a job has a Chief or a Master")


def run_of(replicas: Sequence[Replica], settings: Document, remarks: list[str]) -> Translation:
    """The whole document. A bare server runs in the image of the others."""
    jobs = {one.job: _fields(one) for one in replicas if one.num}
    shared = take_fields(jobs, _SHARED)
    pods = [one.pod for one in replicas if one.pod and one.num]
    mounts = [(one.key, one.pod.mounts) for one in replicas if one.pod and one.num]
    document = {
        **shared,
        **take_variables(jobs),
        **volumes_of(mounts, remarks),
        **_scratch(pods),
        **({"force_pull_image": True} if any(pod.must_pull for pod in pods) else {}),
        **settings,
        "jobs": jobs,
    }
    return Translation(document, tuple(remarks), _origins(replicas, shared))


def _fields(one: Replica) -> Document:
    fields = {"serve": True} if one.pod is None else dict(one.pod.fields)
    return {"num": one.num, **fields, **one.more}


def _scratch(pods: Sequence[Pod]) -> Document:
    """In a container, any new directory is as good as one of its own."""
    paths = list(dict.fromkeys(path for pod in pods for path in pod.scratch))
    if not paths:
        return {}
    return {"extra_config": {"initializer": f"mkdir -p {shlex.join(paths)}"}}


def _origins(replicas: Sequence[Replica], shared: Document) -> dict[Key, Key]:
    origins: dict[Key, Key] = {(name,): ("metadata", name) for name in ("name", "namespace")}
    for one in reversed(replicas):  # of what they share, the first one's
        origins[("jobs", one.job, "num")] = (*one.key, "replicas")
        for field, key in (one.pod.origins if one.pod else {}).items():
            origins[(field,) if field in shared else ("jobs", one.job, field)] = key
        if "port" in one.more:
            origins[("jobs", one.job, "port")] = (*one.key, "tfPort")
    return origins


def settings_of(part: Part, beside: Beside) -> Document:
    """The name of the run, and its namespace, from the metadata of an object."""
    metadata = part.part("metadata")
    name, prefix = metadata.text("name"), metadata.text("generateName")
    of_object = "has no effect here: it concerns the TFJob object, which is not created"
    settings: Document = {}
    if beside.runs_pods and (namespace := metadata.text("namespace")):
        settings["namespace"] = namespace
    metadata.warn(
        namespace="has no effect here: it is for Kubernetes",
        labels=of_object,
        annotations=of_object,
        finalizers=of_object,
    )
    metadata.drop(
        "clusterName",
        "creationTimestamp",
        "generation",
        "resourceVersion",
        "selfLink",
        "uid",
        "managedFields",
        "ownerReferences",
    )
    metadata.close()
    found = name or (prefix or "").rstrip("-")
    return {**settings, **({"name": found} if found else {})}
