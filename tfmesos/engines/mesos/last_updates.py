"""Before the framework is removed: wait until Mesos has reported the end of every task.

A task whose runner has reported is still running for Mesos, for a tenth of a second or so. A
teardown at that moment would record it as killed although it succeeded, and an agent that is being
drained would wait forever for the acknowledgement of its end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from .events import CallRefused, MesosEvent, TaskUpdated
from .task_states import is_terminal


class LastUpdates:
    def __init__(self) -> None:
        self._awaited: set[str] = set()
        self._all_arrived = asyncio.Event()

    def launched(self, task_ids: Iterable[str]) -> None:
        self._awaited.update(task_ids)

    def heard(self, event: MesosEvent) -> None:
        match event:
            case TaskUpdated(task_id, state) if is_terminal(state):
                self._awaited.discard(task_id)
            case CallRefused("ACCEPT", _, task_ids):
                self._awaited.difference_update(task_ids)
        if not self._awaited:
            self._all_arrived.set()

    async def all_arrived(self) -> None:
        if self._awaited:
            self._all_arrived.clear()
            await self._all_arrived.wait()
