"""Starts the commands of the tasks, in small groups if the tasks share a machine with us."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from ..config.job import Task
from ..config.launch_config import LaunchConfig
from ..core.actions import Start
from ..core.events import Event
from .links.listener import Listener
from .links.messages import start_frames, start_message

if TYPE_CHECKING:
    from .local_chief import LocalChief

STARTS, BETWEEN_STARTS = 32, 0.05  # tasks that begin at once, seconds until the next ones do


class Starts:
    def __init__(
        self,
        config: LaunchConfig,
        listener: Listener,
        chief: LocalChief | None,
        emit: Callable[[Event], None],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        is_running: Callable[[], bool],
    ) -> None:
        """*chief* is the task in this terminal; none starts once the run no longer *is running*."""
        self._config = config
        self._listener = listener
        self._chief = chief
        self._emit = emit
        self._spawn = spawn
        self._is_running = is_running

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config

    def begin(self, start: Start) -> None:
        self._start(start.replace(tasks=start.tasks[:STARTS]))
        if len(start.tasks) > STARTS:
            self._spawn(self._start_rest(start))

    def recall(self, start: Start) -> None:
        """An earlier launcher was to start these; those that were not started yet will be."""
        self._start(start)

    async def _start_rest(self, start: Start) -> None:
        """A thousand commands that start at the same moment would leave us no CPU time."""
        for at in range(STARTS, len(start.tasks), STARTS):
            await asyncio.sleep(BETWEEN_STARTS if self._config.engine.is_here else 0)
            if not self._is_running():
                return
            self._start(start.replace(tasks=start.tasks[at : at + STARTS]))

    def _start(self, start: Start) -> None:
        remote: list[tuple[str, Task]] = []
        for task_id, task in start.tasks:
            if self._chief is not None and task_id == self._chief.task_id:
                message = start_message(self._config, task, start.cluster)
                self._chief.is_started = True
                self._spawn(self._chief.live(message, self._emit))
            else:
                remote.append((task_id, task))
        for task_id, frame in start_frames(self._config, remote, start.cluster):
            self._listener.start(task_id, frame)
