"""What the live display shows of each task, or of each job where there are many.

Everything here is pure: tasks, their usage and their progress in, rows out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ...core.tasks import Member, Stage
from ...record import Record
from ...text import duration, size_text
from ..links.usage import Usage
from .progress_bar import ProgressBar, progress_bar

STATES = ("running", "starting", "waiting", "held", "succeeded", "failed", "stopped")


class Row(Record):
    """Unknown values are empty."""

    name: str
    state: str
    node: str = ""
    time: str = ""
    restarts: str = ""
    cpu: str = ""
    memory: str = ""
    gpu: str = ""
    bar: ProgressBar | None = None
    remark: str = ""


class Looks(Record):
    """What is known about the tasks besides their stages, by the ids of their attempts."""

    usages: Mapping[str, Usage]
    progress: Mapping[str, str]


class TaskView(NamedTuple):
    """What is seen of a task. Not a Record: ten thousand are made ten times a second."""

    name: str
    job: str
    state: str
    node: str = ""
    began: float | None = None
    ended: float | None = None
    restarts: int = 0
    failure: str = ""  # why it failed
    usage: Usage | None = None
    progress: str = ""  # the line that it rewrites

    @property
    def is_running(self) -> bool:
        return self.state == "running"


def state_of(member: Member) -> str:
    if member.ending is not None:
        code, was_stopped = member.ending.code, member.ending.was_stopped
        return "stopped" if was_stopped else "failed" if code else "succeeded"
    if member.stage < Stage.LAUNCHED:
        return "waiting"
    if member.is_held:
        return "held"
    return "running" if member.stage is Stage.READY else "starting"


def view_of(member: Member, looks: Looks) -> TaskView:
    state, ending = state_of(member), member.ending
    return TaskView(
        member.task.name,
        member.task.job.name,
        state,
        member.hostname,
        member.ready_at or None,
        ending.at if ending else None,
        member.attempt - 1,
        ending.reason if ending and ending.code else "",
        looks.usages.get(member.task_id),
        looks.progress.get(member.task_id, ""),
    )


def task_rows(tasks: Iterable[TaskView], now: float) -> list[Row]:
    return [_task_row(task, now) for task in tasks]


def _task_row(task: TaskView, now: float) -> Row:
    has_run = task.began is not None and task.state not in ("waiting", "starting")
    return Row(
        name=task.name,
        state=task.state,
        node=task.node,
        time=duration((task.ended or now) - (task.began or now)) if has_run else "",
        restarts=str(task.restarts or ""),
        bar=progress_bar(task.progress) if task.progress and task.is_running else None,
        remark=task.failure,
        **_uses([task.usage] if task.usage and task.is_running else []),
    )


def job_rows(tasks: Iterable[TaskView], now: float) -> list[Row]:
    jobs: dict[str, list[TaskView]] = {}
    for task in tasks:
        jobs.setdefault(task.job, []).append(task)
    return [_job_row(name, job, now) for name, job in jobs.items()]


def _job_row(name: str, job: Sequence[TaskView], now: float) -> Row:
    states = Counter(task.state for task in job)
    running = [task for task in job if task.is_running]
    restarts = sum(task.restarts for task in job)
    began = min((task.began for task in running if task.began is not None), default=None)
    failed = next((task for task in job if task.failure and task.state == "failed"), None)
    first = next((task for task in running if task.progress), None)
    return Row(
        name=f"{name} x {len(job)}",
        state=", ".join(f"{states[state]} {state}" for state in STATES if states[state]),
        time="" if began is None else duration(now - began),
        restarts=str(restarts or ""),
        bar=_first_bar(first) if first else None,
        remark=f"{failed.name} {failed.failure}" if failed else "",
        **_uses([task.usage for task in running if task.usage]),
    )


def _first_bar(task: TaskView) -> ProgressBar | None:
    bar = progress_bar(task.progress)
    return bar and bar.replace(words=f"{task.name} {bar.words}")


def _uses(usages: Sequence[Usage]) -> dict[str, str]:
    if not usages:
        return {}
    gpus = [gpu.busy for usage in usages for gpu in usage.gpus if gpu.busy is not None]
    return {
        "cpu": f"{sum(usage.cpu for usage in usages):.0f} %",
        "memory": size_text(sum(usage.memory for usage in usages)),
        "gpu": f"{sum(gpus) / len(gpus):.0f} %" if gpus else "",
    }
