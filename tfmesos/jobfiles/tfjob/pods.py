"""The template of a pod -> the fields of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...config.exec_limits import MAX_ENVIRONMENT, large_environment
from ...record import NOTHING, Record
from ..export_common import SERVER_COMMAND
from ..parts import Part
from ..translation import Document, JobFileError, Key
from .expansion import TooLong, expanded, references
from .pod_resources import resources_of
from .pod_volumes import mounts_of, volumes_of

CONTAINER = "tensorflow"  # the one container of a replica that the operator looks at
PORT = "tfjob-port"  # the name of the port that the others use
SHELL = ["/bin/sh", "-c"]

_OF_NODES = "has no effect here: use constraints, or pod_template on Kubernetes"
_OF_CLUSTER = "has no effect here: on Kubernetes, use pod_template"
_ONE_CONTAINER = "is not supported: a task is one container"
_NOT_WATCHED = "has no effect here: a task is watched by its runner"
_ORIGINS = {
    **{"image": "image", "cwd": "workingDir", "cmd": "command", "args": "command", "env": "env"},
    **dict.fromkeys(("cpus", "mem", "gpus", "disk"), "resources"),
    "port": "ports",
}


class Pod(Record):
    """What one template says: fields of a job, and settings that all jobs share."""

    fields: Document
    mounts: Mapping[str, str]  # path in the container -> HOST:CONTAINER[:ro]
    scratch: tuple[str, ...] = ()  # paths of directories that are empty at the start
    must_pull: bool = False
    restart_policy: str = ""
    origins: Mapping[str, Key] = NOTHING  # field -> where the document says it


def read(template: Part, mounted: Sequence[str] = ()) -> Pod | None:
    """What the template of a replica says; None if it has no container for TensorFlow.

    What a flag has *mounted* replaces its own volumes.
    """
    metadata = template.part("metadata")
    metadata.drop("creationTimestamp")
    metadata.warn(labels=_OF_CLUSTER, annotations=_OF_CLUSTER)
    metadata.close()
    spec = template.part("spec")
    template.close()
    restart_policy = spec.text("restartPolicy") or ""
    volumes = volumes_of(spec)
    _close_spec(spec)
    container = _container(spec)
    if container is None:
        return None
    mounts = mounts_of(container, volumes, mounted)
    return _read_container(container, *mounts).replace(restart_policy=restart_policy)


def _close_spec(spec: Part) -> None:
    spec.refuse(initContainers=_ONE_CONTAINER, ephemeralContainers=_ONE_CONTAINER)
    spec.warn(
        nodeSelector=_OF_NODES,
        affinity=_OF_NODES,
        tolerations=_OF_NODES,
        nodeName=_OF_NODES,
        schedulerName=_OF_CLUSTER,
        priorityClassName=_OF_CLUSTER,
        serviceAccount=_OF_CLUSTER,
        serviceAccountName=_OF_CLUSTER,
        imagePullSecrets="has no effect here: the nodes know how to pull an image",
        securityContext="has no effect here: the user setting says who runs the tasks",
        hostIPC=_OF_CLUSTER,
        hostPID=_OF_CLUSTER,
        runtimeClassName=_OF_CLUSTER,
        terminationGracePeriodSeconds="has no effect here: a task has 5 s to stop",
    )
    # The tasks always have the network of their node.
    spec.drop("hostNetwork", "dnsPolicy", "automountServiceAccountToken", "enableServiceLinks")


def _container(spec: Part) -> Part | None:
    containers = spec.parts("containers")
    spec.close()
    names = [one.text("name") for one in containers]
    if len(containers) > 1:
        other = next(n for n, name in enumerate(names) if name != CONTAINER or n)
        raise JobFileError((*spec.key, "containers", other), _ONE_CONTAINER)
    if names and names[0] != CONTAINER:
        problem = f"must be {CONTAINER} for the one that runs the training, got {names[0]!r}"
        containers[0].fail("name", problem)
    return containers[0] if containers else None


def _read_container(one: Part, mounts: Mapping[str, str], scratch: tuple[str, ...]) -> Pod:
    fields: Document = {"image": one.text("image"), "cwd": one.text("workingDir")}
    env = _environment(one)
    command, args = _words(one, "command", env), _words(one, "args", env)
    fields["env"] = env
    fields |= _command(command, args) | resources_of(one) | _port(one)
    policy = one.text("imagePullPolicy")
    _close_container(one)
    return Pod(
        {field: value for field, value in fields.items() if value not in (None, {})},
        mounts,
        scratch,
        policy == "Always",
        origins={field: one.key_of(theirs) for field, theirs in _ORIGINS.items()},
    )


def _close_container(one: Part) -> None:
    one.refuse(
        envFrom="is known to Kubernetes only: give the variables in env",
        volumeDevices="is not supported",
    )
    one.warn(
        livenessProbe=_NOT_WATCHED,
        readinessProbe=_NOT_WATCHED,
        startupProbe=_NOT_WATCHED,
        lifecycle=_NOT_WATCHED,
        securityContext="has no effect here: the user setting says who runs the tasks",
        stdin="has no effect here: standard input goes to no task",
        tty="has no effect here",
    )
    one.drop("terminationMessagePath", "terminationMessagePolicy")
    one.close()


def _environment(one: Part) -> dict[str, str]:
    env: dict[str, str] = {}
    for variable in one.parts("env"):
        name = variable.text("name")
        if not name:
            variable.fail("name", "is missing")
        variable.refuse(valueFrom=f"is known to Kubernetes only: give {name} a value")
        try:
            env[name] = expanded(variable.text("value") or "", env)
        except TooLong as error:
            variable.fail("value", str(error))
        variable.close()
    if problem := large_environment(env):
        one.fail("env", problem)
    return env


def _words(one: Part, name: str, env: Mapping[str, str]) -> list[str] | None:
    words = one.texts(name)
    if words is None:
        return None
    filled, room = [], MAX_ENVIRONMENT
    for index, word in enumerate(words):
        if "TF_CONFIG" in references(word) and "TF_CONFIG" not in env:
            problem = "$(TF_CONFIG) is known on the node only: read it there from the environment"
            raise JobFileError((*one.key, name, index), problem)
        try:
            filled.append(expanded(word, env))
        except TooLong as error:
            raise JobFileError((*one.key, name, index), str(error)) from None
        room -= len(filled[-1])
        if room < 0:
            one.fail(name, f"is longer than {MAX_ENVIRONMENT:,} bytes with its $(NAME) filled in")
    return filled


def _command(command: list[str] | None, args: list[str] | None) -> Document:
    """Without a command, the *args* follow that of the image."""
    if not command:
        return {"args": args or []}
    if command == SERVER_COMMAND and not args:
        return {"serve": True}
    is_shell = command[:2] == SHELL and len(command) == 3 and not args
    return {"cmd": command[2] if is_shell else [*command, *(args or [])]}


def _port(one: Part) -> Document:
    found: Document = {}
    for port in one.parts("ports"):
        number, name = port.whole("containerPort"), port.text("name")
        port.drop("protocol", "hostPort")
        port.close()
        if name == PORT:
            found["port"] = number
        else:
            port.remark("containerPort", "has no effect here: the tasks use their node's network")
    return found
