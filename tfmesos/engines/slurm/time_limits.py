"""The time limits of jobs: tasks are stopped before, so that they can write a checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import inf

from ...core.events import NoticeGiven
from ...text import duration
from .allocation import Allocation
from .api.batch_jobs import Job


class TimeLimits:
    def __init__(
        self, allocations: Collection[Allocation], notice_before: float, notice_grace: float | None
    ) -> None:
        """*allocations* are those of the run, kept up to date.

        Their tasks are stopped *notice_before* seconds before the limit, and have *notice_grace*
        of them to end, if it is given.
        """
        self._allocations = allocations
        self._before = notice_before
        self._grace = notice_grace

    @property
    def deadline(self) -> float | None:
        times = map(self._notice_at, self._allocations)
        return min((time for time in times if time is not None), default=None)

    def read(self, one: Allocation, jobs: Sequence[Job], now: float) -> None:
        """Takes in what squeue says about a running job."""
        ends = [job.ends_in for job in jobs if job.ends_in is not None]
        if one.limit_at is None and ends and min(ends) < self._before:
            one.is_leaving = True  # its limit is too short for a notice
        one.limit_at = now + min(ends) if ends else inf

    def due(self, now: float) -> list[NoticeGiven]:
        notices = []
        for one in self._allocations:
            at = self._notice_at(one)
            if at is not None and now >= at:
                one.is_leaving = True
                left = duration((one.limit_at or now) - now)
                words = f"Slurm job {one.job_id} reaches its time limit in {left}"
                notices.append(NoticeGiven(words, True, not one.is_given, self._grace))
        return notices

    def _notice_at(self, one: Allocation) -> float | None:
        """When all tasks are asked to end, before their job does; None if they are not."""
        if one.limit_at in (None, inf) or one.is_leaving or not one.sitting:
            return None
        return one.limit_at - self._before
