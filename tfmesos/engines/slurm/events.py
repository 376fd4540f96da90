"""Events on Slurm (past tense), from the driver to the decider."""

from __future__ import annotations

from ...errors import TFMesosError
from ...record import Record
from .api.batch_jobs import Component, Job


class SlurmEvent(Record):
    """Goes to the decider of this engine, and to no other."""


class SlurmFound(SlurmEvent):
    """Its commands answer; *components* are those of the allocation that we run in."""

    components: tuple[Component, ...] = ()


class SlurmSought(SlurmEvent):
    """Its controller does not answer yet."""

    text: str


class SlurmGaveUp(SlurmEvent):
    error: TFMesosError


class Submitted(SlurmEvent):
    key: str
    job_id: str


class NotSubmitted(SlurmEvent):
    """Slurm refused the job: its tasks will never get places."""

    key: str
    reason: str


class JobsSeen(SlurmEvent):
    """What squeue says; Slurm no longer knows the jobs in *gone*."""

    jobs: tuple[Job, ...]
    gone: tuple[str, ...] = ()


class NodesSeen(SlurmEvent):
    """These nodes are drained: their tasks may finish, but nothing new may start there."""

    drained: tuple[str, ...]


class RoomTried(SlurmEvent):
    """Would Slurm start a job for one more task at once?"""

    has_room: bool


class JobsUnseen(SlurmEvent):
    """The controller did not answer."""

    text: str


class StepEnded(SlurmEvent):
    """One of our sruns has ended, and all tasks of its step with it."""

    job_id: str
    name: str
    code: int
    text: str = ""  # its last words
