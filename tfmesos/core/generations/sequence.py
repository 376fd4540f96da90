"""The generations of a run: each is one life of its cluster, with one shape and one cluster spec.

A restart of all tasks begins the next one, and so does an update, which changes the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...config.job import Job, Task
from ..actions import BeginGeneration
from ..events import UpdateRequested
from ..phases import Phase

ENDING = "it is ending"


class Generations:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.number = 0
        self.jobs = tuple(dict.fromkeys(task.job for task in tasks))
        self.previous: tuple[Job, ...] = ()  # before the last update; nothing if there was none
        self.attempted: tuple[Job, ...] = ()  # those of a rolling update that is not complete
        self._undone: tuple[Job, ...] = ()  # what was attempted before, if that update undoes it
        self.is_updating = False  # is an update under way, rolling or not?
        self._next: BeginGeneration | None = None  # what is done when nothing is left of this one

    @property
    def next_jobs(self) -> tuple[Job, ...]:
        """The jobs of the next generation, as far as they are known."""
        return self._next.jobs if self._next else self.jobs

    @property
    def is_rolling(self) -> bool:
        """Are tasks being changed one after the other?"""
        return self.is_updating and bool(self.attempted)

    @property
    def latest(self) -> tuple[Job, ...]:
        """What the owner of the run requested last, if only some tasks have changed to it."""
        return self.attempted or self.jobs

    @property
    def earlier(self) -> tuple[Job, ...]:
        """What there was before the last update; nothing if there was none."""
        return self.jobs if self.attempted else self.previous

    def why_not_update(
        self, phase: Phase, *, is_back: bool = False, is_rolling: bool = False
    ) -> str:
        """Why the owner of the run cannot change it now; empty if possible.

        A rolling update can be undone (*back*) while it goes on.
        """
        if phase > Phase.RESTARTING:
            return ENDING
        if self.is_rolling and not is_back:
            return "it is being updated already, task by task; --back undoes that"
        if self.is_updating and not self.is_rolling:
            return "it is being updated already"
        if is_rolling and phase is not Phase.RUNNING:
            return "its tasks are not running yet: update it without --rolling"
        return ""

    def why_not_take(self, update: UpdateRequested, phase: Phase) -> str:
        is_back = update.jobs == self.earlier
        return self.why_not_update(phase, is_back=is_back, is_rolling=update.is_rolling)

    def restart(self, why: str) -> None:
        """The next one is like this one, or like what all tasks are being changed to."""
        self._prepare(self._goal, why, is_restart=True)

    def go_on(self, why: str) -> None:
        """The next generation is like this one, and no task has failed."""
        self._prepare(self._goal, why)

    @property
    def _goal(self) -> tuple[Job, ...]:
        return self.latest if self.is_rolling else self.jobs

    def explain(self, why: str) -> None:
        """Record a better reason why the next generation begins."""
        if self._next is not None:
            self._next = self._next.replace(why=why)

    def update(self, jobs: tuple[Job, ...], why: str) -> None:
        self._prepare(jobs, why)
        self.is_updating = True
        self.attempted = ()

    def _prepare(self, jobs: tuple[Job, ...], why: str, *, is_restart: bool = False) -> None:
        self._next = BeginGeneration(self.number + 1, jobs, why, is_restart)

    def roll(self, jobs: tuple[Job, ...]) -> None:
        """Tasks are changed one after the other, until all are those of these jobs."""
        self._undone = self.attempted if jobs == self.jobs else ()
        self.attempted = jobs
        self.is_updating = True

    def end_rolling(self) -> None:
        """All tasks are changed."""
        self._take(self.attempted)

    def stop_rolling(self, is_undone: bool) -> None:
        """Some tasks are changed, or none if it *is undone*."""
        self.is_updating = False
        if self.attempted == self.jobs:
            self.attempted = self._undone
        elif is_undone:
            self.attempted = ()

    def _take(self, jobs: tuple[Job, ...]) -> None:
        if jobs != self.jobs:
            self.previous = self.jobs
        self.jobs = jobs
        self.attempted = ()
        self.is_updating = False

    def begin(self) -> BeginGeneration:
        """Nothing is left of the present generation."""
        begun = self._next
        assert begun is not None
        self._next = None
        self.number = begun.number
        self._take(begun.jobs)
        return begun
