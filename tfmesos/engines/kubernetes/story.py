"""What ``-v`` shows about Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...text import join_names
from .actions import CreatePods
from .events import NodesCounted, PodChanged
from .pod_status import PodSeen

MOST_REFUSALS = 100  # sentences of the scheduler


class KubernetesStory:
    name = "Kubernetes"

    def __init__(self) -> None:
        self._task_ids: dict[str, str] = {}  # by the name of the pod
        self._refusals: set[str] = set()  # the scheduler's sentences that were shown

    def launched(self, action: Any) -> Mapping[str, str]:
        if not isinstance(action, CreatePods):
            return {}
        self._task_ids |= {pod.name: pod.task_id for pod in action.pods}
        return {pod.task_id: pod.task.name for pod in action.pods}

    def news(self, event: Any) -> str:
        if isinstance(event, PodChanged):
            return self._refusal(event.pod)
        if not isinstance(event, NodesCounted) or not event.nodes:
            return ""
        return f"nodes: {join_names([node.name for node in event.nodes])}"

    def _refusal(self, pod: PodSeen) -> str:
        """The whole sentence of the scheduler, once: it is the same for many pods."""
        words = pod.unschedulable
        if not words or words in self._refusals or len(self._refusals) >= MOST_REFUSALS:
            return ""
        self._refusals.add(words)
        return f"pod {pod.name} has no node: {words}"

    def ended(self, event: Any) -> tuple[str, str] | None:
        if not isinstance(event, PodChanged) or not event.pod.has_ended:
            return None
        task_id = self._task_ids.get(event.pod.name)
        return (task_id, f"is {event.pod.phase} to Kubernetes") if task_id else None
