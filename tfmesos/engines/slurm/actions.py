"""Actions of the Slurm engine (imperative)."""

from __future__ import annotations

from ...config.job import Task
from ...record import Record


class Seat(Record):
    """What an attempt at a task is given."""

    task_id: str
    task: Task
    port: int | None = None  # the one that the others look for it at, if there is one


class Step(Record):
    """Tasks of one shape that one srun starts, which numbers them in this order."""

    seats: tuple[Seat, ...]
    group: int = 0  # the component of the batch job that it runs in
    node: str = ""  # where it must run; empty: anywhere in its component
    avoid: tuple[str, ...] = ()  # nodes to avoid


class Submit(Record):
    """Submit one batch job for these steps; each has a component of its own or shares one."""

    key: str  # ours, until Slurm has given the job a number
    steps: tuple[Step, ...]
    is_held: bool = False  # its script waits until the job is let go


class LetGo(Record):
    """Let the script of a job that is held start its steps, now or as soon as Slurm starts it."""

    job_id: str
    key: str


class StartStep(Record):
    """Start one more step in a running job."""

    job_id: str
    step: Step
    groups: int  # components of that job


class CancelJob(Record):
    job_id: str
    reason: str


class ReleaseJob(Record):
    """Let a job end that has no task of ours left."""

    job_id: str


class CancelStep(Record):
    """End one step of a job; its tasks have all been given up."""

    job_id: str
    name: str


class Look(Record):
    """Query the state of these jobs; for *pending* ones also their place in the queue."""

    job_ids: tuple[str, ...]
    pending: bool = False


class LookAtNodes(Record):
    """Query which of these nodes are drained."""

    nodes: tuple[str, ...]


class TryMore(Record):
    """Ask Slurm whether it would start a job for one more of the optional tasks at once."""

    tasks: tuple[Task, ...]


SlurmAction = (
    Submit | LetGo | StartStep | CancelJob | ReleaseJob | CancelStep | Look | LookAtNodes | TryMore
)


def step_name(step: Step) -> str:
    """The name of a step in Slurm: that of its first attempt, which no other step has."""
    return step.seats[0].task_id
