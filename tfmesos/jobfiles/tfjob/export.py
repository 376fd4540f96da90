"""A run as a TFJob of Kubeflow's v1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from typing import Any

from ...config import units
from ...config.restart_settings import parse_codes
from ...config.volumes import Volume
from ..export_common import (
    EVERY_CODE,
    SERVER_COMMAND,
    at,
    jobs_of,
    name_of,
    policy_of,
    refuse_others,
    volumes_of,
)
from ..translation import Document, JobFileError
from . import quantities
from .expansion import escaped
from .pod_resources import GPUS
from .pods import CONTAINER, PORT, SHELL
from .replicas import CHIEFS, TYPES

TFJOB = "a TFJob"
_LABEL = r"[a-z]([-a-z0-9]{0,48}[a-z0-9])?"  # with room for -worker-12 in a name of 63 letters
SETTINGS = (
    *("jobs", "name", "image", "cmd", "env", "volumes", "cwd", "force_pull_image"),
    *("success", "run_timeout", "restarts", "restart_policy", "retry_codes"),
)
_FIELDS = (
    *("num", "cpus", "mem", "gpus", "disk", "cmd", "args", "serve", "image", "env", "cwd", "port"),
    *("task_type", "restarts", "restart_policy", "retry_codes"),
)
_PLACEHOLDER = re.compile(r"[{<](\w+_hosts|job_name|task_index)[}>]")
_RETRYABLE = parse_codes("128-255")


def from_ours(document: Document) -> Document:
    refuse_others(document, SETTINGS, (), TFJOB)
    jobs = jobs_of(document)
    replicas = {
        type_of(job, fields): replica(job, fields, document) for job, fields in jobs.items()
    }
    spec = {
        "runPolicy": {"cleanPodPolicy": "All", **run_policy(document, jobs)},
        **success(document, jobs),
        "tfReplicaSpecs": replicas,
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "TFJob",
        "metadata": {"name": metadata_name(document)},
        "spec": spec,
    }


def metadata_name(document: Document) -> str:
    return name_of(document, _LABEL, "lower-case letters, digits and -, at most 50, in a TFJob")


def type_of(job: str, fields: Document) -> str:
    found = {ours: theirs for theirs, ours in TYPES.items()}.get(job)
    if found is None:
        known = ", ".join(TYPES.values())
        raise JobFileError(("jobs", job), f"cannot be expressed in a TFJob, which has only {known}")
    if fields.get("task_type", job) != job:
        raise JobFileError(("jobs", job, "task_type"), f"must be {job} in a TFJob")
    return found


def success(document: Document, jobs: Mapping[str, Document]) -> Document:
    """The operator's default is worker 0, ours all workers; a chief decides in both."""
    given = document.get("success")
    has_chief = any(job in jobs for job in CHIEFS)
    has_many = jobs.get("worker", {}).get("num", 0) > 1
    if given is None:
        return {"successPolicy": "AllWorkers"} if has_many and not has_chief else {}
    if given != "worker:0" or not has_many or has_chief:
        problem = "can only be worker:0 in a TFJob, with several workers and no chief, got"
        raise JobFileError(("success",), f"{problem} {given!r}")
    return {}


def run_policy(document: Document, jobs: Mapping[str, Document]) -> Document:
    policy: Document = {}
    timeout = document.get("run_timeout")
    if timeout is not None:
        seconds = units.seconds(str(timeout)) or 0.0
        if seconds != int(seconds):
            raise JobFileError(("run_timeout",), f"must be whole seconds in a TFJob, got {seconds}")
        policy["activeDeadlineSeconds"] = int(seconds)
    policies = {job: policy_of(job, fields) for job, fields in jobs.items()}
    limits = {job: one.limit for job, one in policies.items() if one.after_start != "never"}
    for job, limit in limits.items():
        if limit != next(iter(limits.values())):
            raise JobFileError(("jobs", job, "restarts"), "must be the same for all in a TFJob")
    finite = [int(limit) for limit in limits.values() if limit != inf]
    return policy | ({"backoffLimit": finite[0]} if finite else {})


def replica(job: str, fields: Document, document: Document, prefix: str = "volume") -> Document:
    """The replica of *job*, with the *fields* of the run; *prefix* names its volumes."""
    refuse_others(fields, _FIELDS, ("jobs", job), TFJOB)
    pod: Document = {"containers": [_container(job, fields, document, prefix)]}
    if volumes := volumes_of(document):
        pod["volumes"] = [
            {"name": f"{prefix}-{n}", "hostPath": {"path": one.host}}
            for n, one in enumerate(volumes)
        ]
    return {
        "replicas": fields["num"],
        "restartPolicy": _restart_policy(job, fields),
        "template": {"spec": pod},
    }


def _restart_policy(job: str, fields: Document) -> str:
    policy = policy_of(job, fields)
    key = ("jobs", job)
    if policy.after_start == "never":
        for field in ("restarts", "retry_codes"):
            if fields.get(field) is not None:
                problem = "cannot be expressed in a TFJob whose tasks are never started again"
                raise JobFileError((*key, field), problem)
        return "Never"
    if policy.after_start != "task":
        raise JobFileError((*key, "restart_policy"), "must be never or task in a TFJob")
    if policy.codes not in (EVERY_CODE, _RETRYABLE):
        raise JobFileError((*key, "retry_codes"), "must be 1-255 or 128-255 in a TFJob")
    return "OnFailure" if policy.codes == EVERY_CODE else "ExitCode"


def _container(job: str, fields: Document, document: Document, prefix: str) -> Document:
    if not fields.get("image"):
        raise JobFileError(("image",), "is missing: a pod runs in an image")
    container: Document = {
        "name": CONTAINER,
        "image": fields["image"],
        **_command(job, fields),
        "resources": _resources(job, fields),
    }
    if env := fields["env"]:
        container["env"] = [{"name": name, "value": escaped(env[name])} for name in sorted(env)]
    if fields.get("cwd"):
        container["workingDir"] = fields["cwd"]
    if fields.get("port") is not None:
        container["ports"] = [{"name": PORT, "containerPort": _port(job, fields["port"])}]
    if document.get("force_pull_image"):
        container["imagePullPolicy"] = "Always"
    if volumes := volumes_of(document):
        container["volumeMounts"] = [
            _mount(f"{prefix}-{n}", volume) for n, volume in enumerate(volumes)
        ]
    return container


def _command(job: str, fields: Document) -> Document:
    """A list of ours that looks like a shell's is split elsewhere, so that it can be told apart."""
    if fields.get("serve"):
        return {"command": SERVER_COMMAND}
    cmd, args = fields.get("cmd"), [escaped(word) for word in fields.get("args") or []]
    if cmd is None:
        return {"args": args} if "args" in fields else {}
    words = [*SHELL, cmd] if isinstance(cmd, str) else list(cmd)
    if found := _PLACEHOLDER.search(" ".join(words)):
        problem = f"has {found[0]}: the tasks of a TFJob learn from TF_CONFIG who they are"
        raise JobFileError(("jobs", job, "cmd"), problem)
    words = [escaped(word) for word in words]
    if isinstance(cmd, str) or words[:2] != SHELL:
        return {"command": words, **({"args": args} if args else {})}
    return {"command": words[:1], "args": [*words[1:], *args]}


def _resources(job: str, fields: Document) -> Document:
    key = ("jobs", job)
    asked = {
        "cpu": at((*key, "cpus"), quantities.cores, fields["cpus"]),
        "memory": at((*key, "mem"), quantities.size, fields["mem"]),
    }
    if fields["disk"]:
        asked["ephemeral-storage"] = at((*key, "disk"), quantities.size, fields["disk"])
    if fields["gpus"] and job == "ps":
        raise JobFileError((*key, "gpus"), "must be 0 for a ps in a TFJob")
    if fields["gpus"]:
        asked[GPUS[0]] = str(int(fields["gpus"]))
    return {"limits": asked, "requests": dict(asked)}


def _port(job: str, given: Any) -> int:
    if not isinstance(given, int):
        raise JobFileError(("jobs", job, "port"), f"must be a number in a TFJob, got {given!r}")
    return given


def _mount(name: str, volume: Volume) -> Document:
    mount: Document = {"name": name, "mountPath": volume.container}
    return {**mount, "readOnly": True} if volume.read_only else mount
