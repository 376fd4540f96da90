"""The generations of a run: each is one life of its cluster, with one shape and one cluster spec.

A restart of all tasks begins the next one, and so does an update, which changes the shape.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...config.job import Job, Task
from ...record import Record
from ..actions import BeginGeneration
from ..phases import Phase


class _Next(Record):
    jobs: tuple[Job, ...]
    why: str
    is_restart: bool


class Generations:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self.number = 0
        self.jobs = tuple(dict.fromkeys(task.job for task in tasks))
        self.previous: tuple[Job, ...] = ()  # before the last update; nothing if there was none
        self._next: _Next | None = None
        self.is_updating = False  # has its owner asked for the next one?

    @property
    def next_jobs(self) -> tuple[Job, ...]:
        """Those of the next one, as far as it is known now."""
        return self._next.jobs if self._next else self.jobs

    def why_not_update(self, phase: Phase) -> str:
        """What keeps the owner of the run from changing it; empty if nothing does."""
        if phase > Phase.RESTARTING:
            return "it is ending"
        return "it is being updated already" if self.is_updating else ""

    def restart(self, why: str) -> None:
        """The next one is like this one."""
        self._next = _Next(self.jobs, why, True)

    def go_on(self, why: str) -> None:
        """The next one is like this one, and nobody has failed."""
        self._next = _Next(self.jobs, why, False)

    def explain(self, why: str) -> None:
        """More is known about why the next one begins."""
        if self._next is not None:
            self._next = self._next.replace(why=why)

    def update(self, jobs: tuple[Job, ...], why: str) -> None:
        self._next = _Next(jobs, why, False)
        self.is_updating = True

    def begin(self) -> BeginGeneration:
        """Nothing is left of the present one."""
        assert self._next is not None
        self.number += 1
        if self._next.jobs != self.jobs:
            self.previous = self.jobs
        self.jobs = self._next.jobs
        begun = BeginGeneration(self.number, *self._next._values().values())
        self._next = None
        self.is_updating = False
        return begun
