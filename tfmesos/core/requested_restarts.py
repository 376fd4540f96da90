"""Tasks that are restarted because the owner of the run requested it."""

from __future__ import annotations

from .actions import Kill, StopRunner
from .restarts import Restart, Restarts
from .stopping import Stopping
from .tasks import Member, Tasks


class RequestedRestarts:
    def __init__(self, members: Tasks, restarts: Restarts, stopping: Stopping) -> None:
        self._members = members
        self._restarts = restarts
        self._stopping = stopping

    def of_owner(self, task_id: str, elsewhere: bool) -> list[StopRunner | Kill]:
        """Nothing, if the task has ended meanwhile."""
        member = self._members.live(task_id)
        if member is None or self._members.why_not_restart(task_id):
            return []
        restart = Restart(False, 0, 0, 0.0, is_requested=True, elsewhere=elsewhere)
        return [self.start_again(member, restart, "it is started again")]

    def start_again(self, member: Member, restart: Restart, why: str) -> StopRunner | Kill:
        self._restarts.request(member.task_id, restart)
        member.is_to_restart = True
        if not member.has_runner:
            return Kill(member.task_id)
        return self._stopping.end_one(member, why)
