"""What ``-v`` shows about Mesos."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...text import join_names
from .actions import Launch
from .events import OffersReceived, TaskUpdated
from .task_states import is_terminal


class MesosStory:
    name = "Mesos"

    def __init__(self) -> None:
        self._is_offered = False  # since the last launch

    def launched(self, action: Any) -> Mapping[str, str]:
        if not isinstance(action, Launch):
            return {}
        self._is_offered = False
        return {task_id: seat.task.name for task_id, seat in action.seats}

    def news(self, event: Any) -> str:
        if not isinstance(event, OffersReceived) or self._is_offered:
            return ""
        self._is_offered = True
        return f"offers of {join_names(sorted({offer.hostname for offer in event.offers}))}"

    def ended(self, event: Any) -> tuple[str, str] | None:
        if not isinstance(event, TaskUpdated) or not is_terminal(event.state):
            return None
        return event.task_id, f"is {event.state} to Mesos"
