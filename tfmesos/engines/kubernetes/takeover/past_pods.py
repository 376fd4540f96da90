"""Pods that earlier launchers were about to create or delete, and perhaps did not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ....json_types import Json
from .. import actions as do
from .. import events as happened
from ..actions import NewPod

Bodies = tuple[Sequence[Json], Sequence[Json]]  # Secrets, and pods


class PastPods:
    """A pod was created if the server or its runner has reported it."""

    def __init__(self) -> None:
        self.is_connected = False  # did a launcher find the server?
        self._unseen: dict[str, tuple[NewPod, Callable[[Sequence[NewPod]], Bodies]]] = {}
        self._names: dict[str, str] = {}  # task id -> pod, of the same
        self._leaving: dict[str, float | None] = {}  # to be deleted, with what grace

    def made(self, pods: Iterable[NewPod], bodies: Callable[[Sequence[NewPod]], Bodies]) -> None:
        """These were to be created; *bodies* makes their objects, and the Secrets they need."""
        for pod in pods:
            self._unseen[pod.name] = pod, bodies
            self._names[pod.task_id] = pod.name

    def deleted(self, action: do.DeletePods) -> None:
        for name in action.names:
            self._forget(name)
            self._leaving[name] = action.grace

    def happened(self, event: Any) -> None:
        match event:
            case happened.Connected():
                self.is_connected = True
            case happened.PodChanged(pod):
                self._forget(pod.name)
            case happened.PodGone(name):
                self._forget(name)
                self._leaving.pop(name, None)
            case happened.PodsListed(pods):
                for pod in pods:
                    self._forget(pod.name)
            case _:
                self._forget(self._names.get(getattr(event, "task_id", ""), ""))

    def _forget(self, name: str) -> None:
        if found := self._unseen.pop(name, None):
            self._names.pop(found[0].task_id, None)

    def to_make(self) -> list[tuple[Sequence[NewPod], Bodies]]:
        """The pods that were to be created together, with their objects."""
        together: dict[Callable[[Sequence[NewPod]], Bodies], list[NewPod]] = {}
        for pod, bodies in self._unseen.values():
            together.setdefault(bodies, []).append(pod)
        return [(pods, bodies(pods)) for bodies, pods in together.items()]

    def to_delete(self) -> list[do.DeletePods]:
        return [do.DeletePods((name,), grace) for name, grace in self._leaving.items()]
