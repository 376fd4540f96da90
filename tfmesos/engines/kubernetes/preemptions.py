"""Detects preempted pods on servers that report preemptions only as events.

Since 1.26 a pod says so itself, in a condition. Before that, the scheduler writes an event after it
has deleted the pod. Whoever may list events learns of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...errors import TFMesosError
from .api.client import Client
from .api.error import is_retryable
from .events import PodPreempted

log = logging.getLogger(__name__)

PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)  # seconds before each look for a pod: the event may come late


class Preemptions:
    def __init__(self, client: Client, emit: Callable[[PodPreempted], None]) -> None:
        self._client = client
        self._emit = emit
        self._known: set[str] = set()  # the names of all pods ever asked for
        self._one_at_a_time = asyncio.Lock()
        self._looked_at = float("-inf")
        self._seen: dict[str, str] | None = {}  # then: names and reasons

    def ask(self, name: str, pod: str, group: asyncio.TaskGroup) -> None:
        """Was *pod*, which the server calls *name*, deleted to make room? Once is enough."""
        if name not in self._known:
            self._known.add(name)
            group.create_task(self._look_for(name, pod))

    async def _look_for(self, name: str, pod: str) -> None:
        for pause in PAUSES:
            await asyncio.sleep(pause)
            seen = await self._look()
            if seen is None:
                return
            if name in seen:
                return self._emit(PodPreempted(pod, seen[name]))

    async def _look(self) -> dict[str, str] | None:
        """A list that starts now, or later for other callers; None if there will never be one."""
        clock = asyncio.get_running_loop().time
        wanted_at = clock()
        async with self._one_at_a_time:
            if self._looked_at <= wanted_at:
                self._looked_at = clock()
                self._seen = await self._preempted()
            return self._seen

    async def _preempted(self) -> dict[str, str] | None:
        try:
            found, _ = await self._client.list("events", fields="reason=Preempted")
        except TFMesosError as error:
            log.debug("cannot tell who deleted a pod: %s", error)
            return {} if is_retryable(error) else None
        about = [(event.get("involvedObject") or {}, event.get("message")) for event in found]
        return {str(pod.get("name")): str(message or "") for pod, message in about}
