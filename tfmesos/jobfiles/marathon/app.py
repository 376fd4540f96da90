"""An app of Marathon -> a task, and the fields of its job."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...record import Record
from ..parts import Part
from ..translation import Document, JobFileError, Key
from .command import LABEL, OWN_VARIABLES, Words, template_of

_OF_MARATHON = "applies only to Marathon and has no effect here"
_BACK_OFF = "has no effect here: a failed task is started again after 1, 2, 4 ... 30 s"
_SET_BY_MARATHON = re.compile(r"\$\{?((?:PORT\w*|HOST|MARATHON_\w+)\b)")
_ABOUT_SEVERAL = (["UNIQUE"], ["GROUP_BY"], ["MAX_PER"])


class App(Record):
    id: str
    key: Key
    instances: int
    words: Words | None  # cmd, or args
    is_entry: bool  # are they arguments for the entry point of the image?
    template: Document | None  # of our label
    fields: Document
    mounts: Mapping[str, str]
    port: int | None
    settings: Document  # what concerns the whole run


def read_app(part: Part) -> App:
    identity, instances = part.text("id") or "", part.whole("instances")
    settings: Document = {"user": part.text("user")}
    image, mounts = _container(part.part("container"), settings)
    words, is_entry = _words(part, image)
    fields = {
        "image": image,
        "cpus": part.number("cpus"),
        "mem": part.number("mem") or 128,  # Marathon's own default
        "disk": part.number("disk"),
        "gpus": part.whole("gpus"),
        "env": _environment(part),
        "constraints": _constraints(part, instances or 1),
    }
    labels = part.values("labels")
    template = template_of(labels.pop(LABEL, ""))
    if labels:
        part.remark("labels", "have no effect here")
    port = _port(part)
    _close(part)
    return App(
        identity.strip("/").rpartition("/")[2],
        part.key,
        1 if instances is None else instances,
        words,
        is_entry,
        template,
        {field: value for field, value in fields.items() if value},
        mounts,
        port,
        settings,
    )


def _words(part: Part, image: str | None) -> tuple[Words | None, bool]:
    cmd, args = part.text("cmd"), part.texts("args")
    if cmd is not None and args is not None:
        part.fail("args", "and cmd are mutually exclusive")
    if cmd is not None and (found := _SET_BY_MARATHON.search(cmd)):
        part.fail(
            "cmd", f"uses {found[1]}, which only Marathon sets: use {{worker_hosts}} and the like"
        )
    if cmd is not None:
        return cmd, False
    if image is None and not args:
        part.fail("cmd", "is missing")
    words = args or []
    return words, image is not None or words[0].startswith("-")  # which is not a program


def _container(part: Part, settings: Document) -> tuple[str | None, dict[str, str]]:
    kind = part.text("type") or "MESOS"
    if kind not in ("MESOS", "DOCKER"):
        part.fail("type", f"must be MESOS or DOCKER, got {kind!r}")
    docker = part.part("docker")
    image = docker.text("image")
    for place in (part, docker):
        if (network := place.text("network") or "HOST") != "HOST":
            place.fail("network", f"must be HOST, the network of the node, got {network!r}")
    settings["force_pull_image"] = docker.flag("forcePullImage")
    settings["containerizer_type"] = kind if image else None
    docker.refuse(
        parameters="cannot be passed to Docker",
        privileged="is not supported",
        portMappings="is not supported: tasks use the network of their node",
        credential="is not supported: the agents know how to pull an image",
        pullConfig="is not supported: the agents know how to pull an image",
    )
    docker.close()
    mounts = dict(_mount(volume) for volume in part.parts("volumes"))
    part.refuse(portMappings="is not supported: tasks use the network of their node")
    part.warn(linuxInfo=_OF_MARATHON)
    part.close()
    return image or None, mounts


def _mount(volume: Part) -> tuple[str, str]:
    volume.refuse(
        persistent="is not supported: a run leaves nothing behind",
        external="is not supported",
        secret="is not supported: use secrets",
    )
    host, path, mode = volume.path("hostPath"), volume.path("containerPath"), volume.text("mode")
    volume.close()
    if not host or not path:
        volume.fail("hostPath", "and containerPath are both needed")
    return path, f"{host}:{path}" + (":ro" if mode == "RO" else "")


def _environment(part: Part) -> dict[str, str]:
    """TF_CONFIG and our own variables are replaced, with the addresses of the run."""
    env = part.values("env")
    for name, value in env.items():
        if not isinstance(value, str):
            problem = f"must be a string (quote it), got {value!r}"
            raise JobFileError((*part.key, "env", name), problem)
    return {
        name: value
        for name, value in env.items()
        if name != "TF_CONFIG" and not name.startswith(OWN_VARIABLES)
    }


def _constraints(part: Part, instances: int) -> list[str]:
    found = []
    for index, one in enumerate(part.lists("constraints")):
        text = ":".join(one)
        is_about_several = text.endswith(":CLUSTER") or one[1:2] in _ABOUT_SEVERAL
        if is_about_several and instances == 1:
            key = f"constraints[{index}]"
            part.remark(key, f"{text} has no effect on an app with one instance")
        else:
            found.append(text)
    return found


def _port(part: Part) -> int | None:
    """The first port; here every task has its own, which all others learn."""
    definitions = [one.whole("port") for one in part.parts("portDefinitions")]
    ports = part.numbers("ports")
    part.flag("requirePorts")
    return next(iter([*definitions, *ports]), None)


def _close(part: Part) -> None:
    for network in part.parts("networks"):
        if (mode := network.text("mode")) != "host":
            network.fail("mode", f"must be host: tasks use the network of their node, got {mode!r}")
        network.close()
    part.refuse(
        fetch="is not supported: nothing is fetched; put it into the image",
        uris="is not supported: nothing is fetched; put it into the image",
        ipAddress="is not supported: tasks use the network of their node",
        residency="is not supported: a run leaves nothing behind",
        secrets="is not supported: DC/OS secrets are not available here",
    )
    part.warn(
        **dict.fromkeys(("backoffSeconds", "backoffFactor", "maxLaunchDelaySeconds"), _BACK_OFF),
        **dict.fromkeys(
            (
                *("healthChecks", "readinessChecks", "check", "upgradeStrategy", "killSelection"),
                *("taskKillGracePeriodSeconds", "unreachableStrategy", "dependencies", "executor"),
                *("acceptedResourceRoles", "role", "storeUrls", "tty"),
            ),
            _OF_MARATHON,
        ),
    )
    part.drop(
        "version",
        "versionInfo",
        "deployments",
        "tasks",
        "lastTaskFailure",
        "taskStats",
        "tasksStaged",
        "tasksRunning",
        "tasksHealthy",
        "tasksUnhealthy",
    )
    part.close()
