"""What a run shows of itself: the output of its tasks on the screen, everything to its observer."""

from __future__ import annotations

from ..config.launch import LaunchConfig
from ..core.lifecycle import Lifecycle
from ..core.phases import Phase
from .console import Console
from .observer import Observer
from .usage import Usage

STATUS_EVERY = 0.1  # seconds between two versions of the live line, at least


class View:
    def __init__(self, config: LaunchConfig, console: Console, observer: Observer) -> None:
        self._console, self._observer = console, observer
        self.names: dict[str, str] = {}  # task id -> name, of all that were launched
        self.shown = {task.name for task in config.tasks if task in config.logs}
        self._next_status, self._phase = 0.0, Phase.FINISHED

    def show_status(self, lifecycle: Lifecycle, shipping: str, now: float) -> None:
        is_new_phase = lifecycle.phase is not self._phase
        if self._console.is_live and (is_new_phase or now >= self._next_status):
            self._next_status, self._phase = now + STATUS_EVERY, lifecycle.phase
            self._console.status(shipping or lifecycle.summary())

    async def output(self, task_id: str, stream: str, text: str, dropped: int) -> None:
        name = self.names.get(task_id, task_id)
        self._observer.written(name, stream, text, dropped)
        if name in self.shown:
            await self._console.output(name, stream, text, dropped)

    def measured(self, task_id: str, usage: Usage) -> None:
        self._observer.measured(self.names.get(task_id, task_id), usage)
