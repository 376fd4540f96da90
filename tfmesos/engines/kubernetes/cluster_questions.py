"""Queries the cluster about nodes, the pods of others, and the queue."""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...errors import TFMesosError
from . import events as happened
from . import objects
from .api.client import Client
from .api.connection import WORKLOADS
from .api.error import ApiError
from .events import KubernetesEvent
from .node_room import free_rooms, node_room
from .objects import Owner
from .pods.groups import PodGroup, reason

log = logging.getLogger(__name__)


class ClusterQuestions:
    """Each is answered by one event, even if the server does not answer."""

    def __init__(self, client: Client, emit: Callable[[KubernetesEvent], None]) -> None:
        self._client = client
        self._emit = emit

    async def count_nodes(self, gpu: str) -> None:
        try:
            nodes, _ = await self._client.list("nodes")
        except TFMesosError as error:
            log.debug("cannot list the nodes: %s", error)
            return self._emit(happened.NodesCounted(None))
        self._emit(happened.NodesCounted(tuple(node_room(node, gpu) for node in nodes)))

    async def count_room(self, gpu: str, owner: Owner | None) -> None:
        """What would be free if the pods of *owner* were gone."""
        assert owner is not None
        try:
            nodes, _ = await self._client.list("nodes")
            others = f"{objects.RUN}!={owner.name}"
            pods, _ = await self._client.list("pods", others, everywhere=True)
        except TFMesosError as error:
            log.debug("cannot tell what is free: %s", error)
            return self._emit(happened.RoomCounted(None))
        self._emit(happened.RoomCounted(free_rooms(nodes, pods, gpu)))

    async def ask_queue(self, group: PodGroup | None) -> None:
        """Kueue gives its Workload the name of the group."""
        assert group is not None
        try:
            workload = await self._client.get(WORKLOADS, group.name)
        except TFMesosError as error:
            log.debug("the queue does not answer: %s", error)
            is_refused = isinstance(error, ApiError) and error.is_missing_right
            return self._emit(happened.QueueSaid(None if is_refused else ""))
        self._emit(happened.QueueSaid(reason(workload)))
