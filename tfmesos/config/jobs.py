"""The jobs of a run: checked together, and numbered where they share a task type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SpecError
from ..text import suggestion
from .constraints import parse_all, parse_for_job
from .job import SINGLE_TYPES, Job, Task


def tasks_of(jobs: Iterable[Job]) -> tuple[Task, ...]:
    return tuple(task for job in jobs for task in job.tasks)


FIELDS = tuple(field for field in Job.__match_args__ if field != "type_offset")

Jobs = Job | Mapping[str, Any] | Iterable[Job | Mapping[str, Any]]


def parse_jobs(jobs: Jobs) -> list[Job]:
    """The jobs of a run, given as in TFMesos: a Job, a dict, or a list of these."""
    if not isinstance(jobs, Iterable) and not isinstance(jobs, Job):
        raise SpecError(None, "jobs", f"must be a Job, a dict, or a list of these, got {jobs!r}")
    given = [jobs] if isinstance(jobs, (Job, Mapping)) else list(jobs)
    parsed = [job if isinstance(job, Job) else _job_from_dict(job) for job in given]
    names = [job.name for job in parsed]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(name, "name", "is given to two jobs")
    if not any(job.size for job in parsed):
        raise SpecError(None, "jobs", "ask for no tasks: give at least one job a num above 0")
    _check_ranges(parsed)
    return _numbered(parsed)


def _check_ranges(jobs: Sequence[Job]) -> None:
    """Tasks that may be missing are the last ones of their type, and of one job."""
    ranges = [job for job in jobs if job.at_least is not None]
    for job in ranges:
        others = [one for one in jobs if one.task_type == job.task_type and one is not job]
        if len(ranges) > 1 or any(one.num for one in others):
            problem = (
                "may be a range in only one job, whose task type no other job has, "
                f"got {job.size_text}"
            )
            raise SpecError(job.name, "num", problem)


def _numbered(jobs: Sequence[Job]) -> list[Job]:
    """Tasks of one type are numbered one after another, in the order of their jobs."""
    taken: Counter[str] = Counter()
    numbered = []
    for job in jobs:
        before = taken[job.task_type]
        if before and job.start:
            problem = f"must be 0: {job.task_type} tasks of another job come before these"
            raise SpecError(job.name, "start", problem)
        if job.num + before > 1 and job.task_type in SINGLE_TYPES:
            problem = (
                f"{job.task_type!r} is already the type of a task, and TensorFlow allows only one"
            )
            raise SpecError(job.name, "task_type", problem)
        numbered.append(job.replace(type_offset=before))
        taken[job.task_type] += job.num
    return numbered


def _job_from_dict(job: Mapping[str, Any]) -> Job:
    known = FIELDS
    if not isinstance(job, Mapping):
        raise SpecError(None, "jobs", f"must contain Job objects or dicts, got {job!r}")
    for key in job:
        if key not in known:
            problem = f"is not a field of a job: {', '.join(known)}{suggestion(str(key), known)}"
            raise SpecError(job.get("name"), str(key), problem)
    for key in ("name", "num"):
        if key not in job:
            raise SpecError(job.get("name"), key, "is missing")
    return Job(**job)


def constrained(jobs: Sequence[Job], given: Any) -> list[Job]:
    """The jobs with constraints for the whole run: for a job that is named, or for each one."""
    added: dict[str, list[Any]] = {job.name: list(job.constraints) for job in jobs}
    for text in parse_all(given):
        name, constraint = parse_for_job(text)
        if name is not None and name not in added:
            there = ", ".join(added)
            problem = (
                f"names a job that is not in this run: {name!r} in {text!r} (its jobs: {there})"
            )
            raise SpecError(None, "constraints", problem)
        for job in added if name is None else [name]:
            added[job].append(constraint)
    return [job.replace(constraints=added[job.name]) for job in jobs]
