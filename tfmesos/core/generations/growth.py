"""Growth: when a run that began with fewer tasks than it could use looks for room for more."""

from __future__ import annotations

from ...config.jobs import tasks_of
from ...text import count
from ..actions import LookForRoom
from ..events import NoticeGiven
from ..phases import Phase
from ..tasks import Tasks
from .sequence import Generations

MOST_DOUBLINGS = 4  # of the time between two looks, while generations do not become larger


class Growth:
    def __init__(self, members: Tasks, generations: Generations, every: float | None) -> None:
        """Look every *every* seconds; None: the run never grows by itself."""
        self._members = members
        self._generations = generations
        self._every = every
        self._look_at: float | None = None
        self._small = 0  # tasks when the run last tried to grow; 0: it has not
        self._in_vain = 0  # how often it failed to become larger

    def begin(self, now: float) -> None:
        """All tasks of a generation run."""
        if self._small:
            has_grown = len(self._members) > self._small
            self._in_vain = 0 if has_grown else self._in_vain + 1
            self._small = 0
        self._look_later(now)

    def _look_later(self, now: float) -> None:
        missing = len(tasks_of(self._generations.jobs)) - len(self._members)
        if self._every is None or missing <= 0:
            self._look_at = None
        else:
            self._look_at = now + self._every * 2 ** min(self._in_vain, MOST_DOUBLINGS)

    def deadline_in(self, phase: Phase) -> float | None:
        return self._look_at if phase is Phase.RUNNING else None

    def look(self, now: float) -> list[LookForRoom]:
        self._look_later(now)
        return [LookForRoom(tasks_of(self._generations.jobs))]

    def seen(self, room: int) -> NoticeGiven | None:
        """There is room for so many more tasks; is that worth another generation?"""
        more = room - len(self._members)
        if more <= 0 or self._look_at is None:
            return None
        self._small = len(self._members)
        return NoticeGiven(f"there is room for {count(more, 'more task')}")
