"""When to ask the controller about jobs: not too often, and only while a job needs it."""

from __future__ import annotations

from collections.abc import Collection

from .actions import Look
from .allocation import Allocation, Phase

LOOK_EVERY = 2.0  # seconds between two queries


class Looks:
    def __init__(self, jobs: Collection[Allocation]) -> None:
        self._jobs = jobs  # those of the run, kept up to date
        self._is_asked = False
        self.deadline: float | None = None

    def later(self, now: float, within: float = LOOK_EVERY) -> None:
        """Unless no job needs it."""
        needed = any(one.is_to_look_at for one in self._jobs)
        at = now + within
        if not needed or self._is_asked:
            self.deadline = None
        elif self.deadline is None or at < self.deadline:
            self.deadline = at

    def due(self, now: float) -> list[Look]:
        if self.deadline is None or now < self.deadline:
            return []
        self.deadline = None
        ids = tuple(one.job_id for one in self._jobs if one.is_to_look_at)
        if not ids:
            return []
        self._is_asked = True
        return [Look(ids, any(one.phase is Phase.PENDING for one in self._jobs))]

    def answered(self) -> None:
        self._is_asked = False
