"""When a run has succeeded: every task that decides has ended well.

The tasks that were chosen decide. Else the chief, or the workers if there is none, or all commands
if there are neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..config.job import DECIDING_TYPES, Task
from ..config.launch import TaskChoice
from .phases import Phase
from .tasks import Member, Stage

MIN_LIFE = 1.0  # seconds a task may run although those that decide have finished


class Success:
    def __init__(self, tasks: Sequence[Task], chosen: TaskChoice | None = None) -> None:
        self._deciding = deciding(tasks, chosen)
        self.begin()

    def begin(self) -> None:
        """Nobody has ended yet, or no longer counts as ended."""
        self._undecided = set(self._deciding)
        self.deadline: float | None = None  # when the run has succeeded

    def needs(self, task: Task) -> bool:
        """Is the end of *task* waited for?"""
        return task in self._undecided

    def ended_well(self, task: Task, members: Iterable[Member], now: float) -> None:
        self._undecided.discard(task)
        if not self._undecided:
            # A ps that has hardly begun may be about to say something: let it live a moment.
            live = [member for member in members if member.is_live]
            began = [m.ready_at if m.stage is Stage.READY else now for m in live]
            self.deadline = max((at + MIN_LIFE for at in began), default=now)

    def deadline_in(self, phase: Phase) -> float | None:
        return self.deadline if phase is Phase.RUNNING else None

    def is_sure(self, now: float) -> bool:
        return self.deadline is not None and now >= self.deadline


def deciding(tasks: Sequence[Task], chosen: TaskChoice | None) -> set[Task]:
    """Those whose success is the success of the run: the chief, else the workers, else all."""
    commands = {task for task in tasks if task.job.cmd is not None}
    if chosen is not None:
        return {task for task in commands if task in chosen}
    for name in DECIDING_TYPES:
        if found := {task for task in commands if task.type == name}:
            return found
    return commands
