"""What the Kubernetes engine wants its driver to do (imperative)."""

from __future__ import annotations

from ...config.job import Task
from ...record import Record


class NewPod(Record):
    name: str  # within the run
    task_id: str
    task: Task


class CreatePods(Record):
    pods: tuple[NewPod, ...]
    avoid: tuple[str, ...] = ()  # nodes that are to be left alone if others will do
    round: int = 1  # how often the run has made pods


class DeletePods(Record):
    names: tuple[str, ...]
    grace: float | None = None  # seconds; None: that of the pod


class CountNodes(Record):
    """Ask which nodes there are."""


class CountRoom(Record):
    """Ask what is free on the nodes, besides what our own pods use."""


class AskQueue(Record):
    """Ask why the queue does not let the pods in that were made last."""


KubernetesAction = CreatePods | DeletePods | CountNodes | CountRoom | AskQueue
