"""Requests for places: when, and for which tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..config.job import Task
from ..text import count
from .actions import Anticipate, Place, Say, StopPlacing
from .avoided_nodes import AvoidedNodes
from .events import Placed, TasksLeftOut
from .phases import Phase
from .stopwatch import Stopwatch
from .tasks import Stage, Tasks


class Placing:
    def __init__(
        self, members: Tasks, avoided: AvoidedNodes, stopwatch: Stopwatch, hold: float = 0.0
    ) -> None:
        """*hold* are the seconds for which optional tasks are waited for."""
        self._hold = hold
        self._members = members
        self._avoided = avoided
        self._stopwatch = stopwatch

    def is_waited_for(self, phase: Phase) -> bool:
        """Is a task waiting without which the others cannot start or continue?"""
        if phase is Phase.STARTING:
            return True
        return phase is Phase.RUNNING and not self._members.all_at_least(Stage.STARTED)

    def request(self, phase: Phase) -> Place | StopPlacing:
        """Request places for all waiting tasks; this replaces the previous request."""
        is_running = phase is Phase.RUNNING
        wanted = self._members.wanted(is_running) if phase <= Phase.RUNNING else ()
        if not wanted:
            return StopPlacing("no task is waiting")
        return Place(wanted, {**self._avoided.until}, is_running, self._hold)

    def anticipate(self, tasks: Iterable[Task]) -> Anticipate:
        """What will be asked for when the next generation begins with these tasks."""
        wanted = self._members.next_wanted(tasks)
        return Anticipate(Place(wanted, {**self._avoided.until}, hold=self._hold))

    def leave_out(self, left_out: TasksLeftOut) -> list[Say]:
        """A message if the run starts with fewer tasks than it could use."""
        left = self._members.leave_out(left_out.task_ids)
        if not left:
            return []
        job = left[0].task.job
        there = self._members.by_job()[job.name]
        words = f"continuing with {there} of up to {count(job.num, f'{job.name} task')}"
        return [Say(f"{words}: {left_out.reason}", "warning")]

    def take(self, places: Sequence[Placed], phase: Phase, now: float) -> None:
        for place in places:
            if not self._members.is_stray(place.task_id):  # it was left out meanwhile
                self._members.launch(place)
        if phase is Phase.STARTING and not self._members.waiting():
            is_first = all(member.attempt == 1 for member in self._members)
            self._stopwatch.lap("waiting for places" if is_first else "launching again", now)
