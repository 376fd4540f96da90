"""Tasks that stay silent after others have finished: they may wait for those forever.

A worker in the style of TensorFlow 1 does so if it needs a peer that has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from ..text import join_names
from .actions import Say
from .hangs import Hangs
from .tasks import Member, Stage, Tasks

SILENT_FOR = 30.0  # seconds of all that still run, after the last one has finished


class FinishedPeers:
    def __init__(self, members: Tasks, awaited: Callable[[], list[Member]], hangs: Hangs) -> None:
        """*awaited* returns those whose end the run is waiting for."""
        self._members = members
        self._awaited = awaited
        self._hangs = hangs
        self._told: set[str] = set()  # those that had finished at the last message

    @property
    def deadline(self) -> float | None:
        """The time when all have been silent long enough to report it."""
        if not self._hangs.is_any_silent:  # called after every event, with thousands of tasks
            return None
        since = [self._hangs.silent_since(member) for member in self._awaited()]
        if not since or None in since:
            return None
        finished = self._finished()
        if self._told.issuperset(member.task_id for member in finished):
            return None
        ends = [member.ending.at for member in finished if member.ending]
        return max(*(at for at in since if at is not None), *ends) + SILENT_FOR

    def tick(self, now: float) -> list[Say]:
        """Called at the deadline."""
        finished = self._finished()
        self._told = {member.task_id for member in finished}
        ended = join_names([f"{m.task.name} ({m.ending.reason})" for m in finished if m.ending])
        running = join_names([member.task.name for member in self._awaited()])
        silent = f"still running, without output for {SILENT_FOR:g} s: {running}"
        hint = "a task that waits for a finished one hangs"
        return [Say(f"finished: {ended}; {silent} ({hint})", "notice")]

    def _finished(self) -> list[Member]:
        ended = [member for member in self._members if member.stage is Stage.ENDED]
        return [m for m in ended if m.task.job.cmd is not None and not m.task.is_auxiliary]
