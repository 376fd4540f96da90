"""The steps of a run for ``-v``: what happened to its tasks, one line for each step.

Events and their actions in, lines out. With many tasks, only every tenth is shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...config.launch_config import LaunchConfig
from ...core import actions as do
from ...core import events as happened
from ...engines.api import EngineStory
from ...text import count, join_names

FEW = 10  # tasks that are named one by one


class Tally:
    """Counts the tasks that have reached a step, each attempt once."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._names: set[str] = set()

    def add(self, task_id: str, name: str) -> bool:
        """Counts it; returns whether it deserves a line."""
        is_news = task_id not in self._ids
        self._ids.add(task_id)
        self._names.add(name)
        return is_news

    def begin_again(self) -> None:
        """Count from 0, but do not report the same thing again."""
        self._names.clear()

    def __len__(self) -> int:
        return len(self._names)


class Story:
    def __init__(self, tasks: int, engine: EngineStory) -> None:
        self._tasks = tasks
        self._engine = engine
        self._names: dict[str, str] = {}  # of those that were launched, by their ids
        self._registered = Tally()
        self._ended = Tally()

    def change(self, config: LaunchConfig) -> None:
        """The next generation has these tasks."""
        self._tasks = config.size
        self._registered.begin_again()
        self._ended.begin_again()

    def tell(self, event: Any, actions: Sequence[Any]) -> list[str]:
        """Report what matters of *event* and of the *actions* it led to."""
        self._learn(actions)
        return [*self._of_event(event), *self._of_actions(actions)]

    def _learn(self, actions: Sequence[Any]) -> None:
        for action in actions:
            self._names |= self._engine.launched(action)
            if isinstance(action, do.Start):
                self._names |= {task_id: task.name for task_id, task in action.tasks}

    def _of_event(self, event: Any) -> list[str]:
        match event:
            case happened.TaskRegistered(task_id, address, _, directory):
                own = f" and has its files in {directory}" if directory else ""
                return self._step(self._registered, task_id, f"is at {address}{own}")
            case happened.TaskExited():
                return self._step(self._ended, event.task_id, event.reason, event.code != 0)
            case happened.RunnerLost(task_id, reason):
                return [f"lost touch with {self._name(task_id)}: {reason}"]
            case happened.StopRequested(reason):
                return [f"asked to end: {reason}"]
        if ended := self._engine.ended(event):
            return self._step(self._ended, *ended)
        news = self._engine.news(event)
        return [news] if news else []

    def _step(self, done: Tally, task_id: str, what: str, is_bad: bool = False) -> list[str]:
        """*task_id* is among *done* now: reported once, and not for each of many tasks."""
        if not done.add(task_id, self._name(task_id)):
            return []
        number = len(done)
        is_tenth = number * FEW // self._tasks != (number - 1) * FEW // self._tasks
        if not (is_bad or is_tenth or self._tasks <= FEW):
            return []
        return [f"{self._name(task_id)} {what} ({number} of {self._tasks})"]

    def _of_actions(self, actions: Sequence[Any]) -> list[str]:
        lines = []
        stopped = [self._name(a.task_id) for a in actions if isinstance(a, do.StopRunner)]
        if stopped:
            lines.append(f"stopping {join_names(stopped)}")
        for action in actions:
            if isinstance(action, do.Start):
                lines.append(
                    f"starting {count(len(action.tasks), 'task')}: each has the addresses of "
                    "the others"
                )
            elif isinstance(action, do.AnnounceReady):
                lines.append("all tasks are running")
            elif isinstance(action, do.Finish):
                lines.append(f"the tasks have ended: leaving {self._engine.name}")
        return lines

    def _name(self, task_id: str) -> str:
        return self._names.get(task_id, task_id)
