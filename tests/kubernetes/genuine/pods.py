"""Pods that tests make by hand, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .conftest import IMAGE
from .namespace import Namespace


def pod(name: str, *command: str, **spec: Any) -> dict[str, Any]:
    container = {
        "name": "task",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": [*command],
    }
    container |= spec.pop("container", {})
    plain = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    return {"metadata": {"name": name}, "spec": {**plain, **spec}}


def state(found: dict[str, Any]) -> dict[str, Any]:
    """Of its one container: {"running": ...}, {"waiting": ...} or {"terminated": ...}."""
    statuses = found["status"].get("containerStatuses") or [{"state": {}}]
    return statuses[0]["state"]


def is_running(found: dict[str, Any]) -> bool:
    return "running" in state(found)


def has_ended(found: dict[str, Any]) -> bool:
    return found["status"].get("phase") in ("Succeeded", "Failed")


def until(kube: Namespace, name: str, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The pod as it is once *is_so*."""
    path = f"{kube.path}/pods?fieldSelector=metadata.name={name}"
    for event in kube.admin.watch(path):
        if is_so(event["object"]):
            return event["object"]
    raise AssertionError(f"the watch of {name} ended")


def create(kube: Namespace, *pods: dict[str, Any]) -> None:
    for it in pods:
        kube.user.post(f"{kube.path}/pods", it)


def remove(kube: Namespace, *names: str) -> None:
    for name in names:
        kube.user.delete(f"{kube.path}/pods/{name}?gracePeriodSeconds=0")


SMALL = ("-Cw", 0.1, "-Mw", 64, "-Cs", 0.1, "-Ms", 64)


def on_kubernetes(*words: object) -> tuple[object, ...]:
    """The arguments of a tfrun on the cluster of the current context, in the image of the tests."""
    return ("-m", "k8s://", "--image", IMAGE, *words)
