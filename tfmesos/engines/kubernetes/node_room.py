"""What a node of the cluster has for pods."""

from __future__ import annotations

from ...config.job import Resources
from ...json_types import Json
from .events import NodeRoom
from .quota import amount

_MIB = 2**20


def node_room(node: Json, gpu_resource: str) -> NodeRoom:
    """Of the JSON of the API."""
    metadata, status = node.get("metadata") or {}, node.get("status") or {}
    there = status.get("allocatable") or {}

    def of(name: str, per: float = 1) -> float:
        return (amount(str(there.get(name, 0))) or 0.0) / per

    room = Resources.of(
        of("cpu"), of("memory", _MIB) // 1, of(gpu_resource), of("ephemeral-storage", _MIB) // 1
    )
    return NodeRoom(str(metadata.get("name")), room)
