"""Have every task ended, and know when that has taken too long."""

from __future__ import annotations

from .actions import Action, Kill, StopPlacing, StopRunner
from .tasks import Tasks

KILL_GRACE = 5.0  # seconds between SIGTERM and SIGKILL
HANG_REPORT = 4.0  # seconds more when the tasks are to tell what they are doing
STOP_MARGIN = 2.0  # seconds for a killed task to be reported, beyond its grace


class Stopping:
    def __init__(self, members: Tasks, now: float) -> None:
        self._members = members
        self.deadline = now

    def begin(self, reason: str, now: float, examine: bool = False) -> list[Action]:
        """End all tasks. To *examine* them is to have them tell before what they are doing."""
        self.deadline = now + KILL_GRACE + STOP_MARGIN + (HANG_REPORT if examine else 0)
        todo: list[Action] = [StopPlacing(reason)] if self._members.waiting() else []
        for member in self._members:
            if member.has_runner:
                look = examine and member.task.job.cmd is not None
                todo.append(StopRunner(member.task_id, KILL_GRACE, reason, look))
            elif member.is_live:
                todo.append(Kill(member.task_id))
        return todo

    def wait_for_output(self, now: float) -> None:
        """The commands have ended by then; their last lines and their end come when taken."""
        if now >= self.deadline:
            self.deadline = now + STOP_MARGIN

    def is_over(self, now: float) -> bool:
        return not self._members.any_live or now >= self.deadline
