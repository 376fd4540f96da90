"""Actions of this engine (imperative)."""

from __future__ import annotations

from ...config.job import Task
from ...record import Record


class Seat(Record):
    """What an attempt at a task is given here."""

    task_id: str
    task: Task
    port: int | None = None  # the one that the others look for it at, if there is one
    gpu_ids: tuple[str, ...] = ()


class StartTasks(Record):
    """Start the runners of these tasks."""

    hostname: str
    seats: tuple[Seat, ...]


class EndTask(Record):
    """End a task, whatever its runner does."""

    task_id: str


class TakeGpus(Record):
    """Take this many GPUs of this machine for this run, or none."""

    number: int


LocalAction = StartTasks | EndTask | TakeGpus
