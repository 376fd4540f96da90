"""A run as a group of Marathon: one app for each task, found by the others through Mesos-DNS."""

from __future__ import annotations

import json
from itertools import count
from math import inf

from ...config.constraints import Constraint, parse_for_job
from ...config.constraints import parse as parse_constraint
from .. import tensorboard_job
from ..export_common import (
    EVERY_CODE,
    at,
    jobs_of,
    name_of,
    policy_of,
    refuse_others,
    volumes_of,
)
from ..translation import Document, JobFileError, Key
from .command import LABEL, Cluster, address, rendered, variables

_GROUP = "a Marathon group"
_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SETTINGS = (
    *("jobs", "name", "image", "cmd", "env", "volumes", "force_pull_image", "containerizer_type"),
    *("user", "constraints", "restarts", "restart_policy", "retry_codes"),
)
_OF_IMAGES = ("volumes", "force_pull_image", "containerizer_type")
_FIELDS = (
    *("num", "cpus", "mem", "gpus", "disk", "cmd", "args", "serve", "image", "env", "task_type"),
    *("constraints", "restarts", "restart_policy", "retry_codes"),
)
_FIELDS_OF_BOARD = (*_FIELDS, "port")
_FIRST_PORT = 31000  # what stock agents offer
_MOST_PORTS = 65536 - _FIRST_PORT
_OF_SEVERAL = ("UNIQUE", "GROUP_BY", "MAX_PER")
_IN_TF_CONFIG = ("chief", "master", "worker", "ps")


def from_ours(document: Document) -> Document:
    refuse_others(document, _SETTINGS, (), _GROUP)
    group = name_of(document, _NAME, "lower-case letters, digits and - in a Marathon group")
    jobs = jobs_of(document)
    for job, fields in jobs.items():
        _check(job, fields)
    if not any(fields.get("image") for fields in jobs.values()):
        known = [name for name in document if name not in _OF_IMAGES]
        refuse_others(document, known, (), f"{_GROUP} without an image")
    cluster = _cluster(group, jobs)
    apps = [
        _app(document, cluster, job, fields, index)
        for job, fields in jobs.items()
        for index in range(fields["num"])
    ]
    return {"id": group, "apps": apps}


def _check(job: str, fields: Document) -> None:
    key = ("jobs", job)
    known = _FIELDS_OF_BOARD if _board(job, fields) else _FIELDS
    refuse_others(fields, known, key, _GROUP)
    if "_" in job or job != job.lower():
        raise JobFileError(key, "must be lower-case letters and digits in a Marathon group")
    if fields.get("task_type", job) != job:
        raise JobFileError((*key, "task_type"), f"must be {job} in a Marathon group")
    policy = policy_of(job, fields)
    wanted = {"restart_policy": "task", "restarts": "unlimited", "retry_codes": "1-255"}
    is_wanted = {
        "restart_policy": policy.after_start == "task",
        "restarts": policy.limit == inf,
        "retry_codes": policy.codes == EVERY_CODE,
    }
    for field, text in wanted.items():
        if fields.get(field) is not None and not is_wanted[field]:
            problem = f"must be {text}: Marathon starts each task again whenever it ends"
            raise JobFileError((*key, field), problem)


def _cluster(group: str, jobs: dict[str, Document]) -> Cluster:
    total = sum(fields["num"] for fields in jobs.values())
    if total > _MOST_PORTS:
        problem = f"ask for {total:,} tasks: a Marathon group has ports for {_MOST_PORTS:,}"
        raise JobFileError(("jobs",), problem)
    port = count(_FIRST_PORT)
    return {
        job: [address(f"{job}-{n}", group, next(port)) for n in range(fields["num"])]
        for job, fields in jobs.items()
    }


def _app(document: Document, cluster: Cluster, job: str, fields: Document, index: int) -> Document:
    template = {name: fields[name] for name in ("cmd", "args", "serve") if fields.get(name)}
    if not template:
        template = {"args": []}
    command = rendered(template, cluster, job, index)
    env = {**fields["env"], **_tf_config(cluster, job, index)}
    env |= variables(command, cluster, job, index)
    constraints = _constraints(document, job, fields)
    amounts = {name: fields[name] for name in ("cpus", "mem", "disk", "gpus") if fields[name]}
    app = {
        "id": f"{job}-{index}",
        "instances": 1,
        **command,
        **amounts,
        **_container(document, fields),
        **({"env": env} if env else {}),
        **({"constraints": constraints} if constraints else {}),
        **({"user": document["user"]} if document.get("user") else {}),
    }
    if board := _board(job, fields):
        return {**app, "cmd": board}
    address = cluster[job][index]
    return {
        **app,
        "portDefinitions": [{"port": int(address.rpartition(":")[2]), "protocol": "tcp"}],
        "requirePorts": True,
        "labels": {LABEL: json.dumps(template)},
    }


def _board(job: str, fields: Document) -> str | None:
    """The command of an app that runs TensorBoard, which chooses its own port."""
    return tensorboard_job.written(fields) if job == tensorboard_job.JOB else None


def _tf_config(cluster: Cluster, job: str, index: int) -> Document:
    if sum(map(len, cluster.values())) < 2:
        return {}
    known = {
        name: list(hosts) for name, hosts in cluster.items() if name in _IN_TF_CONFIG and hosts
    }
    task = {"type": job, "index": index}
    return {"TF_CONFIG": json.dumps({"cluster": known, "task": task})}


def _container(document: Document, fields: Document) -> Document:
    """Without an image, volumes are the node's own directories: there is nothing to do."""
    if not fields.get("image"):
        return {}
    kind = str(document.get("containerizer_type") or "MESOS").upper()
    docker: Document = {"image": fields["image"]}
    if kind == "DOCKER":
        docker["network"] = "HOST"
    if document.get("force_pull_image"):
        docker["forcePullImage"] = True
    volumes = [
        {
            "hostPath": one.host,
            "containerPath": one.container,
            "mode": "RO" if one.read_only else "RW",
        }
        for one in volumes_of(document)
    ]
    return {
        "container": {
            "type": kind,
            "docker": docker,
            **({"volumes": volumes} if volumes else {}),
        },
        "networks": [{"mode": "host"}],
    }


def _constraints(document: Document, job: str, fields: Document) -> list[list[str]]:
    """The constraints of the run that apply to this job, and its own."""
    key = ("jobs", job, "constraints")
    of_run = [
        (("constraints", n), *at(("constraints", n), parse_for_job, text))
        for n, text in enumerate(document.get("constraints") or ())
    ]
    own = [
        ((*key, n), job, at((*key, n), parse_constraint, text))
        for n, text in enumerate(fields.get("constraints") or ())
    ]
    return [_constraint(key, one) for key, name, one in [*own, *of_run] if name in (None, job)]


def _constraint(key: Key, one: Constraint) -> list[str]:
    if one.operator in _OF_SEVERAL or one.chooses_value:
        problem = f"{one} concerns several tasks: in a Marathon group each is its own app"
        raise JobFileError(key, problem)
    return [one.field, one.operator, one.value]
