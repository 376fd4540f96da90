"""The spare job: it waits in the queue while a generation ends, and then runs the next one.

Slurm may start it before the tasks of the last generation have ended. Its script starts nothing
until it is let go.
"""

from __future__ import annotations

from ...core.actions import Place
from .allocation import Allocation


class Spare:
    """There is at most one."""

    def __init__(self) -> None:
        self.job: Allocation | None = None
        self.place: Place | None = None  # the request that it is, or would be, for

    def keep(self, job: Allocation, place: Place) -> None:
        job.is_held = True
        self.job = job
        self.place = place

    @property
    def jobs(self) -> list[Allocation]:
        """The one, or none."""
        return [self.job] if self.job else []

    def has(self, *, key: str = "", job_id: str = "") -> bool:
        """Is it the job with this key, or this Slurm id?"""
        one = self.job
        return one is not None and (one.key == key if key else one.job_id == job_id)

    def fits(self, place: Place) -> bool:
        """Would a job submitted now for this request be the same?"""
        return self.place == place

    def take(self) -> Allocation | None:
        """Returns it; it is then no longer the spare job."""
        job = self.job
        self.job = self.place = None
        return job
