"""A choice of tasks of a run, by name."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SpecError
from ..record import Record
from .job import Task


class TaskChoice(Record):
    """Some of the tasks: pairs of job name and index, ``*`` for every one."""

    chosen: frozenset[tuple[str, str]]

    @classmethod
    def parse(cls, field: str, text: str, tasks: Sequence[Task]) -> TaskChoice:
        """Read ``all``, ``none`` or a list such as ``worker:0,ps:*``."""
        if text in ("all", "*"):
            return cls(frozenset({("*", "*")}))
        if text in ("none", ""):
            return cls(frozenset())
        return cls(
            frozenset(cls._parse_one(field, part.strip(), tasks) for part in text.split(","))
        )

    @staticmethod
    def _parse_one(field: str, part: str, tasks: Sequence[Task]) -> tuple[str, str]:
        job, colon, index = part.partition(":")
        indices = {str(task.index) for task in tasks if task.job.name == job}
        if not indices:
            jobs = ", ".join(sorted({task.job.name for task in tasks}))
            raise SpecError(
                None, field, f"names a job that is not in this run: {part!r} (its jobs: {jobs})"
            )
        if not colon:
            index = "*"
        if index != "*" and index not in indices:
            raise SpecError(None, field, f"names no task of this run: {part!r}")
        return job, index

    def __contains__(self, task: Task) -> bool:
        job = task.job.name
        return not self.chosen.isdisjoint({("*", "*"), (job, "*"), (job, str(task.index))})


EVERY_TASK = TaskChoice(frozenset({("*", "*")}))
NO_TASK = TaskChoice(frozenset())
