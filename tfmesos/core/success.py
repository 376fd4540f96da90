"""Decides when a run has succeeded: when every deciding task has succeeded.

The chosen tasks decide; otherwise the chief, or the workers if there is none, or all commands if
there are neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..config.failure_settings import DEFAULT_EVALUATOR_GRACE
from ..config.job import DECIDING_TYPES, EVALUATOR, Task
from ..config.task_choice import TaskChoice
from ..text import agreeing, join_names
from .actions import Say
from .phases import Phase
from .tasks import Member, Stage

MIN_LIFE = 1.0  # seconds a task may run although those that decide have finished


class Success:
    def __init__(
        self,
        tasks: Sequence[Task],
        chosen: TaskChoice | None = None,
        evaluator_grace: float = DEFAULT_EVALUATOR_GRACE,
    ) -> None:
        self._chosen = chosen
        self._grace = evaluator_grace
        self.begin(tasks)

    def begin(self, tasks: Sequence[Task]) -> None:
        """No task counts as ended."""
        self._undecided = {task.name for task in deciding(tasks, self._chosen)}
        self.deadline: float | None = None  # when the run has succeeded
        self._decided_at: float | None = None

    def needs(self, task: Task) -> bool:
        """Does the run wait for the end of *task*?"""
        return task.name in self._undecided

    def ended_well(self, task: Task, members: Iterable[Member], now: float) -> list[Say]:
        self._undecided.discard(task.name)
        if self._undecided:
            return []
        # A ps that has just started may be about to report something: give it a moment.
        live = [member for member in members if member.is_live]
        began = [m.ready_at if m.stage is Stage.READY else now for m in live]
        self.deadline = max((at + MIN_LIFE for at in began), default=now)
        return self._wait_for_evaluators(_evaluators(live), now)

    def _wait_for_evaluators(self, evaluators: list[Member], now: float) -> list[Say]:
        """They still have to evaluate the last checkpoint."""
        is_first = self._decided_at is None
        self._decided_at = now if self._decided_at is None else self._decided_at
        if not evaluators or not self._grace:
            return []
        assert self.deadline is not None
        self.deadline = max(self.deadline, self._decided_at + self._grace)
        text = f"all others have finished; waiting up to {self._grace:g} s for {_names(evaluators)}"
        return [Say(text, "notice")] if is_first else []

    def say_stopped(self, members: Iterable[Member]) -> list[Say]:
        """Report, at the deadline, evaluators that are still alive."""
        live = _evaluators(member for member in members if member.is_live)
        if not live:
            return []
        when = f"within {self._grace:g} s of all others"
        text = f"{_names(live)} did not finish {when}: stopping {agreeing(len(live), 'it', 'them')}"
        return [Say(text, "warning")]

    def deadline_in(self, phase: Phase) -> float | None:
        return self.deadline if phase is Phase.RUNNING else None

    def is_sure(self, now: float) -> bool:
        return self.deadline is not None and now >= self.deadline


def _evaluators(members: Iterable[Member]) -> list[Member]:
    return [m for m in members if m.task.type == EVALUATOR and m.task.job.cmd is not None]


def _names(members: list[Member]) -> str:
    return join_names([member.task.name for member in members])


def deciding(tasks: Sequence[Task], chosen: TaskChoice | None) -> set[Task]:
    """The tasks that decide whether the run succeeded: the chief, else the workers, else all."""
    commands = {task for task in tasks if task.job.cmd is not None and not task.is_auxiliary}
    if chosen is not None:
        return {task for task in commands if task in chosen}
    for name in DECIDING_TYPES:
        if found := {task for task in commands if task.type == name}:
            return found
    return commands
