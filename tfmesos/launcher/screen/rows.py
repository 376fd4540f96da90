"""What the live display tells of each task, or of each job where there are many. All of it is pure:
the tasks, what they use and how far they are in, rows out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...core.tasks import Member, Stage
from ...record import Record
from ...text import duration, size_text
from ..links.usage import Usage
from .progress_bar import ProgressBar, progress_bar

STATES = ("running", "starting", "waiting", "succeeded", "failed", "stopped")


class Row(Record):
    """Empty is what is not known."""

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
    """What is seen of the tasks beside their stages, by the ids of their attempts."""

    usages: Mapping[str, Usage]
    progress: Mapping[str, str]


def state_of(member: Member) -> str:
    if member.ending is not None:
        code, was_stopped = member.ending.code, member.ending.was_stopped
        return "stopped" if was_stopped else "failed" if code else "succeeded"
    if member.stage < Stage.LAUNCHED:
        return "waiting"
    return "running" if member.stage is Stage.READY else "starting"


def task_rows(members: Iterable[Member], looks: Looks, now: float) -> list[Row]:
    return [_task_row(member, looks, now) for member in members]


def _task_row(member: Member, looks: Looks, now: float) -> Row:
    state, row_time = state_of(member), ""
    if member.ready_at and state != "waiting" and state != "starting":
        row_time = duration((member.ending.at if member.ending else now) - member.ready_at)
    is_running = state == "running"
    usage = looks.usages.get(member.task_id) if is_running else None
    line = looks.progress.get(member.task_id, "") if is_running else ""
    return Row(
        name=member.task.name,
        state=state,
        node=member.hostname,
        time=row_time,
        restarts=str(member.attempt - 1) if member.attempt > 1 else "",
        bar=progress_bar(line) if line else None,
        remark=member.ending.reason if member.ending and member.ending.code else "",
        **_uses([usage] if usage else []),
    )


def job_rows(members: Iterable[Member], looks: Looks, now: float) -> list[Row]:
    jobs: dict[str, list[Member]] = {}
    for member in members:
        jobs.setdefault(member.task.job.name, []).append(member)
    return [_job_row(name, job, looks, now) for name, job in jobs.items()]


def _job_row(name: str, job: Sequence[Member], looks: Looks, now: float) -> Row:
    states = Counter(map(state_of, job))
    running = [member for member in job if state_of(member) == "running"]
    usages = [looks.usages[m.task_id] for m in running if m.task_id in looks.usages]
    restarts = sum(member.attempt - 1 for member in job)
    began = min((member.ready_at for member in running), default=0.0)
    failed = next((m for m in job if m.ending and m.ending.code and not m.ending.was_stopped), None)
    first = next((m for m in running if looks.progress.get(m.task_id)), None)
    return Row(
        name=f"{name} x {len(job)}",
        state=", ".join(f"{states[state]} {state}" for state in STATES if states[state]),
        time=duration(now - began) if began else "",
        restarts=str(restarts) if restarts else "",
        bar=_first_bar(first, looks) if first else None,
        remark=f"{failed.task.name} {failed.ending.reason}" if failed and failed.ending else "",
        **_uses(usages),
    )


def _first_bar(member: Member, looks: Looks) -> ProgressBar | None:
    bar = progress_bar(looks.progress[member.task_id])
    return bar and bar.replace(words=f"{member.task.name} {bar.words}")


def _uses(usages: Sequence[Usage]) -> dict[str, str]:
    if not usages:
        return {}
    gpus = [gpu.busy for usage in usages for gpu in usage.gpus if gpu.busy is not None]
    return {
        "cpu": f"{sum(usage.cpu for usage in usages):.0f} %",
        "memory": size_text(sum(usage.memory for usage in usages)),
        "gpu": f"{sum(gpus) / len(gpus):.0f} %" if gpus else "",
    }
