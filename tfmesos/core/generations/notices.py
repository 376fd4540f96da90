"""Notices: all tasks write a checkpoint together, before some of them are ended from outside."""

from __future__ import annotations

from ...errors import Preempted, RunTimeout, TFMesosError
from ..events import NodeDrained, NoticeGiven
from ..phases import Phase
from ..tasks import Member
from .sequence import ENDING


class Notices:
    def __init__(self, policy: str) -> None:
        """*policy* says what is restarted."""
        self._policy = policy
        self._leaving: Member | None = None  # the task because of which the last one was given

    def goes_on(self, notice: NoticeGiven) -> bool:
        return notice.may_go_on and self._policy == "all"

    def of_leaving(self, member: Member, drained: NodeDrained) -> NoticeGiven | None:
        """One task has to go, so all are stopped; not where a task is restarted alone."""
        policy = member.task.job.restart_policy or self._policy
        if not drained.is_notice or policy == "task" or member.task.is_auxiliary:
            return None
        self._leaving = member
        return NoticeGiven(_words(member, drained))

    def is_about(self, member: Member) -> bool:
        return member is self._leaving

    def explained(self, member: Member | None, drained: NodeDrained) -> str:
        """Better words for the last notice; empty if it was about another task."""
        return _words(member, drained) if member and member is self._leaving else ""


def why_not_checkpoint(phase: Phase) -> str:
    """Why the tasks cannot write a checkpoint now; empty if they can."""
    if phase is Phase.RUNNING:
        return ""
    return ENDING if phase > Phase.RESTARTING else "its tasks are not running yet"


def error_of(notice: NoticeGiven) -> TFMesosError:
    return (RunTimeout if notice.is_time_limit else Preempted)(notice.reason)


def _words(member: Member, drained: NodeDrained) -> str:
    return f"{member.task.name} {drained.reason} on {member.hostname}"
