"""A TFJob on Kubernetes: what its pod templates contain beyond our settings goes into the pods."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from ..translation import NOTHING_BESIDE, Beside, Document, Translation
from . import document as tfjob
from .pod_resources import GPUS
from .pods import CONTAINER, PORT
from .replicas import TYPES

# What is read as for Mesos; all else is taken as it is.
_OF_SPEC = ("containers", "restartPolicy")
_OF_CONTAINER = (
    *("name", "image", "command", "args", "env", "resources", "workingDir", "ports"),
    "imagePullPolicy",
)
_AMOUNTS = ("cpu", "memory", "ephemeral-storage", *GPUS)
_ALL_AGAIN = (
    "restartPolicy starts all tasks again: a restarted pod has another address, where "
    "the others do not look for it"
)


def to_ours(tree: dict[str, Any], beside: Beside = NOTHING_BESIDE) -> Translation:
    """As ``tfjob.to_ours``, with a pod template for each job that needs one."""
    tree = copy.deepcopy(tree)
    templates = {job: _taken(template) for job, template in _templates(tree)}
    found = tfjob.to_ours(tree, beside)
    jobs = {
        name: {**job, **({"pod_template": templates[name]} if templates.get(name) else {})}
        for name, job in found.document["jobs"].items()
    }
    document, remarks = _restarting_all({**found.document, "jobs": jobs})
    return found.replace(document=document, remarks=(*found.remarks, *remarks))


def _templates(tree: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod templates of all replicas, by job; errors are reported later."""
    spec = _dict(tree.get("spec"))
    names = {name.lower(): job for name, job in TYPES.items()}
    for name, replica in _dict(spec.get("tfReplicaSpecs")).items():
        yield names.get(str(name).lower(), ""), _dict(_dict(replica).get("template"))
    for replica in map(_dict, _list(spec.get("replicaSpecs"))):
        name = str(replica.get("tfReplicaType", "MASTER"))
        yield names.get(name.lower(), ""), _dict(replica.get("template"))


def _taken(template: dict[str, Any]) -> Document:
    """What only Kubernetes understands, taken out of *template*."""
    metadata = _dict(template.get("metadata"))
    about = {key: metadata.pop(key) for key in ("labels", "annotations") if key in metadata}
    spec = _dict(template.get("spec"))
    found = {key: spec.pop(key) for key in list(spec) if key not in _OF_SPEC}
    containers = _list(spec.get("containers"))
    own = [one for one in containers if _dict(one).get("name") == CONTAINER]
    others = [one for one in containers if _dict(one).get("name") != CONTAINER]
    more = _of_container(own[0]) if own else {}
    if own and (more or others):
        spec["containers"] = own
        found["containers"] = [{"name": CONTAINER, **more}, *others]
    parts = {"metadata": about, "spec": found}
    return {name: part for name, part in parts.items() if part}


def _of_container(container: dict[str, Any]) -> Document:
    found = {key: container.pop(key) for key in list(container) if key not in _OF_CONTAINER}
    _take(container, found, "env", lambda one: "valueFrom" in one)
    _take(container, found, "ports", lambda one: one.get("name") != PORT)
    for place, amounts in _dict(container.get("resources")).items():
        more = {name: amounts.pop(name) for name in list(_dict(amounts)) if name not in _AMOUNTS}
        if more:
            found.setdefault("resources", {})[place] = more
    return found


def _take(container: dict[str, Any], found: Document, name: str, is_theirs: Any) -> None:
    """Move some entries of a list."""
    entries = _list(container.get(name))
    theirs = [one for one in entries if is_theirs(_dict(one))]
    if theirs:
        found[name] = theirs
        container[name] = [one for one in entries if one not in theirs]


def _restarting_all(document: Document) -> tuple[Document, list[str]]:
    places = [document, *document["jobs"].values()]
    single = [place for place in places if place.get("restart_policy") == "task"]
    for place in single:
        place["restart_policy"] = "all"
    return document, [_ALL_AGAIN] if single else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
