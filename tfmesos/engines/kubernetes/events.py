"""Events from Kubernetes (past tense)."""

from __future__ import annotations

from ...config.job import Resources
from ...errors import TFMesosError
from ...record import Record
from .pod_status import PodSeen


class KubernetesEvent(Record):
    """Goes to the decider of this engine, and to no other."""


class Connected(KubernetesEvent):
    """The server answers; with what else the pods need."""

    server: str
    namespace: str


class Disconnected(KubernetesEvent):
    """The watch has broken, and cannot be opened again for now."""

    reason: str


class Reconnected(KubernetesEvent):
    """The watch is open again."""


class ServerSought(KubernetesEvent):
    """An attempt to reach the server failed for a new reason; there will be another one."""

    trouble: str


class ServerGaveUp(KubernetesEvent):
    """It accepts no (more) requests from us."""

    error: TFMesosError


class PodChanged(KubernetesEvent):
    pod: PodSeen


class PodGone(KubernetesEvent):
    name: str


class PodPreempted(KubernetesEvent):
    """A pod is deleted to make room for another one; *detail* is the scheduler's message."""

    name: str
    detail: str = ""


class PodsListed(KubernetesEvent):
    """All pods that exist: others are gone."""

    pods: tuple[PodSeen, ...]


class PodsRefused(KubernetesEvent):
    """The server took none or not all of the pods that were to be made together."""

    error: TFMesosError
    is_quota: bool = False  # the quota of the namespace is used up


class NodeRoom(Record):
    """What a node has for pods, used or not."""

    name: str
    room: Resources


class NodesCounted(KubernetesEvent):
    """None: we may not ask."""

    nodes: tuple[NodeRoom, ...] | None


class RoomCounted(KubernetesEvent):
    """What is free on each node, besides what our own pods use; None: we may not ask."""

    nodes: tuple[NodeRoom, ...] | None


class QueueSaid(KubernetesEvent):
    """Why it does not let the pods in; empty if it does not say, None: we may not ask."""

    reason: str | None
