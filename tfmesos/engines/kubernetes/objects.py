"""The objects that a run creates in its namespace, as JSON: an owner, secrets and pods.

Everything belongs to the owner: when it is deleted, so is everything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...config.job import Job, Task
from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...json_types import Json
from ...record import Record
from .actions import NewPod
from .pod_status import CONTAINER
from .pods.affinity import placement
from .pods.groups import PodGroup
from .pods.resources import resources, size
from .pods.security_context import security_context
from .pods.template import container_of, filled, laid_over, of_job

PORT_FORWARD, DIAL = "port-forward", "dial"  # we connect to the tasks, or they to us
RUN, USER, JOB, INDEX = "tfmesos/run", "tfmesos/user", "tfmesos/job", "tfmesos/index"
TASK_ID, RENEWED = "tfmesos/task-id", "tfmesos/renewed"  # annotations
HOLDER, SURVIVE = "tfmesos/holder", "tfmesos/survive"  # annotations of the owner
TIME = "%Y-%m-%dT%H:%M:%SZ"
STUB = "stub"  # its key in the secret
MIN_GRACE = 2.0  # seconds beyond those of the command, for its runner to report

_LOOPBACK: Json = {"value": "127.0.0.1"}
_POD_IP: Json = {"valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}

_CODE = "import os;exec(os.environ.pop('TFMESOS_STUB'))"


class Owner(Record):
    """The object that all others of a run belong to."""

    name: str
    uid: str

    @property
    def reference(self) -> Json:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": self.name, "uid": self.uid}


def label_value(text: str) -> str:
    """As Kubernetes wants it: 63 letters, digits, dots and dashes, no dash at the ends."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text)[:63].strip("-_.")


def labels(run: str, user: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "tfmesos",
        "app.kubernetes.io/instance": run,
        "app.kubernetes.io/managed-by": "tfrun",
        RUN: run,
        USER: label_value(user),
    }


def owner(config: LaunchConfig, name: str, host: str, links: str = PORT_FORWARD) -> Json:
    """A ConfigMap that says whose run it is, and which side connects."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels(name, config.user)},
        "data": {"name": config.name, "user": config.user, "launcher": host, "links": links},
    }


def renewal(time: str, version: str = "") -> Json:
    """The change that shows that the launcher is alive; only for this *version* of the owner."""
    return {"metadata": {"annotations": {RENEWED: time}, **_of_version(version)}}


def claim(time: str, holder: str, version: str) -> Json:
    """The change by which another launcher takes the run; only for this *version* of the owner."""
    return {"metadata": {"annotations": {RENEWED: time, HOLDER: holder}, **_of_version(version)}}


def _of_version(version: str) -> Json:
    return {"resourceVersion": version} if version else {}


def secret(
    config: LaunchConfig, owner: Owner, name: str, stub: str, secrets: Mapping[str, Secret]
) -> Json:
    """The stub, and the secret of each pod by its name."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "immutable": True,
        "metadata": {
            "name": name,
            "labels": labels(owner.name, config.user),
            "ownerReferences": [owner.reference],
        },
        "stringData": {STUB: stub, **{name: one.reveal() for name, one in secrets.items()}},
    }


def pod_name(owner: Owner, pod: str) -> str:
    return f"{owner.name}-{pod}"


def pod(
    config: LaunchConfig,
    owner: Owner,
    new: NewPod,
    settings: str,
    secret: str,
    avoid: Sequence[str] = (),
    is_local: bool = False,
    group: PodGroup | None = None,
) -> Json:
    """The pod of a task; *settings* is what its stub receives, *secret* the object with the rest.

    *is_local*: it listens at its loopback, where only we find it. *group*: those that a queue lets
    in together.
    """
    theirs = filled(of_job(config, new.task.job), _placeholders(owner, new.task))
    container = {
        **_container(config, new, settings, secret, is_local),
        **_security(config, theirs),
    }
    ours: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": pod_name(owner, new.name),
            "labels": {**_labels(config, owner, new.task), **(group.labels if group else {})},
            "annotations": {TASK_ID: new.task_id, **(group.annotations if group else {})},
            "ownerReferences": [owner.reference],
        },
        "spec": _spec(config, owner, new, container, avoid),
    }
    if _spec_of(theirs).get("automountServiceAccountToken") is True:  # it was chosen explicitly
        ours["spec"].pop("automountServiceAccountToken")
    return laid_over(theirs, ours)


def _spec_of(template: Json) -> Mapping[str, Any]:
    spec = template.get("spec")
    return spec if isinstance(spec, Mapping) else {}


def _placeholders(owner: Owner, task: Task) -> dict[str, str]:
    """What a template may name: gang schedulers recognize a run by labels of its pods."""
    return {"run": owner.name, "job": label_value(task.job.name), "index": str(task.index)}


def _security(config: LaunchConfig, theirs: Json) -> Json:
    spec = _spec_of(theirs)
    of_container = container_of(spec).get("securityContext")
    found = security_context(config.task_user, spec.get("securityContext"), of_container)
    return {"securityContext": found} if found else {}


def selector(run: str, job: Job) -> dict[str, str]:
    """The labels that only the pods of a job have."""
    return {RUN: run, JOB: label_value(job.name)}


def _labels(config: LaunchConfig, owner: Owner, task: Task) -> dict[str, str]:
    return {
        **labels(owner.name, config.user),
        **selector(owner.name, task.job),
        "app.kubernetes.io/component": label_value(task.job.name),
        INDEX: str(task.index),
    }


def _spec(
    config: LaunchConfig, owner: Owner, new: NewPod, container: Json, avoid: Sequence[str]
) -> Json:
    volumes = _volumes(config)
    finalizer = config.kill_grace if config.finalizer else 0.0
    grace = config.kill_grace + finalizer + MIN_GRACE
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": round(grace + 0.499),
        "containers": [container],
        **({"priorityClassName": config.pods.priority} if config.pods.priority else {}),
        **({"volumes": [volume for volume, _ in volumes]} if volumes else {}),
        **placement(new.task.job, selector(owner.name, new.task.job), avoid),
    }


def _container(
    config: LaunchConfig, new: NewPod, settings: str, secret: str, is_local: bool
) -> Json:
    job, mounts = new.task.job, [mount for _, mount in _volumes(config)]
    return {
        "name": CONTAINER,
        "image": config.image_of(job),
        "imagePullPolicy": "Always" if config.force_pull_image else "IfNotPresent",
        "command": [_literal(config.python_of(job)), "-I", "-S", "-c", _CODE],
        "env": [
            {"name": "TFMESOS_RUNNER", "value": _literal(settings)},
            _from_secret("TFMESOS_SECRET", secret, new.name),
            _from_secret("TFMESOS_STUB", secret, STUB),
            {"name": "TFMESOS_ADDRESS", **(_LOOPBACK if is_local else _POD_IP)},
        ],
        "resources": resources(config, job),
        **({"volumeMounts": mounts} if mounts else {}),
    }


def _literal(text: str) -> str:
    """*text* as a kubelet leaves it: it replaces $(NAME), and takes $$ for $."""
    return text.replace("$", "$$")


def _from_secret(variable: str, secret: str, key: str) -> Json:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def _volumes(config: LaunchConfig) -> list[tuple[Json, Json]]:
    """Each volume with the place where it is mounted."""
    found: list[tuple[Json, Json]] = []
    for number, one in enumerate(config.volumes):
        place: Json = {"hostPath": {"path": one.host}}
        found.append(_volume(f"tfmesos-host-{number}", place, one.container, one.read_only))
    for number, claim in enumerate(config.pods.claims):
        about = {"claimName": claim.name, "readOnly": claim.read_only}
        place = {"persistentVolumeClaim": about}
        found.append(_volume(f"tfmesos-pvc-{number}", place, claim.path, claim.read_only))
    if config.pods.shm:
        memory = {"medium": "Memory", "sizeLimit": size(config.pods.shm)}
        found.append(_volume("tfmesos-shm", {"emptyDir": memory}, "/dev/shm", False))
    return found


def _volume(name: str, source: Json, path: str, read_only: bool) -> tuple[Json, Json]:
    mount = {"name": name, "mountPath": path, **({"readOnly": True} if read_only else {})}
    return {"name": name, **source}, mount
