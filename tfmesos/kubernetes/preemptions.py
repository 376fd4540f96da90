"""Pods that had to make room for others, on servers that tell so by their events only.

Since 1.26 a pod says so itself, in a condition. Before that, the scheduler writes an event after it
has deleted the pod. Whoever may list events learns of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..errors import TFMesosError
from .api.client import Client
from .events import PodPreempted

log = logging.getLogger(__name__)

PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0)  # seconds before each look: the event may come late


class Preemptions:
    def __init__(self, client: Client, emit: Callable[[PodPreempted], None]) -> None:
        self._client, self._emit = client, emit
        self._asked: dict[str, str] = {}  # by their names on the server
        self._known: set[str] = set()  # those of all that were ever asked for

    def ask(self, name: str, pod: str, group: asyncio.TaskGroup) -> None:
        """Was *pod*, which the server calls *name*, deleted to make room? Once is enough."""
        if name in self._known:
            return
        self._known.add(name)
        if not self._asked:
            group.create_task(self._look())
        self._asked[name] = pod

    async def _look(self) -> None:
        for pause in PAUSES:
            await asyncio.sleep(pause)
            await self._look_once()
            if not self._asked:
                return
        self._asked.clear()

    async def _look_once(self) -> None:
        try:
            found, _ = await self._client.list("events", fields="reason=Preempted")
        except TFMesosError as error:
            log.debug("who deleted %s is unknown: %s", ", ".join(self._asked), error)
            self._asked.clear()
            return
        for event in found:
            about = event.get("involvedObject") or {}
            if pod := self._asked.pop(str(about.get("name")), None):
                self._emit(PodPreempted(pod, str(event.get("message") or "")))
