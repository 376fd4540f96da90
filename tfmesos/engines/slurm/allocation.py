"""The Slurm jobs of a run, and where in them each task is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from math import ceil

from ...config.job import Job, Task
from ...core.actions import Wanted
from ...core.events import Placed, TasksPlaced
from .actions import CancelJob, LetGo, ReleaseJob, Seat, Step, step_name


class Phase(IntEnum):
    SUBMITTING = 1
    PENDING = 2
    RUNNING = 3


@dataclass(slots=True, eq=False)
class Sitting:
    """An attempt at a task that has not ended, as far as we know."""

    seat: Seat
    step: str  # its name
    group: int
    node: str = ""  # as far as we know
    is_placed: bool = False  # does the lifecycle know of its place?
    is_heard: bool = False  # has its runner registered, and is it in touch?
    has_registered: bool = False


@dataclass(slots=True, eq=False)
class Allocation:
    """One batch job of ours, or the job that we run in ourselves."""

    key: str
    steps: tuple[Step, ...] = ()
    job_id: str = ""
    phase: Phase = Phase.SUBMITTING
    is_given: bool = False  # is it the one that we run in?
    is_held: bool = False  # does its script wait to be let go?
    sitting: dict[str, Sitting] = field(default_factory=dict)  # by task id
    nodes: dict[int, tuple[str, ...]] = field(default_factory=dict)  # by component
    limit_at: float | None = None  # when its time limit ends it
    fewer_at: float | None = None  # when to submit it with fewer tasks, if it is pending
    is_retrying: bool = False  # may its script start a step again that reached no launcher?
    is_suspended: bool = False  # has somebody suspended it?
    is_leaving: bool = False  # will its tasks leave it soon, so that nothing else starts in it?

    @property
    def groups(self) -> int:
        return max((1 + step.group for step in self.steps), default=len(self.nodes))

    @property
    def tasks(self) -> set[str]:
        """Those that have places in it, by name, even if they have ended."""
        return {seat.task.name for step in self.steps for seat in step.seats}

    @property
    def all_nodes(self) -> set[str]:
        return {node for nodes in self.nodes.values() for node in nodes}

    def seat(self, step: Step) -> None:
        name = step_name(step)
        for seat in step.seats:
            self.sitting[seat.task_id] = Sitting(seat, name, step.group, step.node)

    def group_for(self, task: Task) -> int | None:
        """The component whose tasks have the shape of this one."""
        for step in self.steps:
            if shape(step.seats[0].task.job) == shape(task.job):
                return step.group
        return None

    def room(self, group: int) -> int:
        """The number of free seats of a component."""
        seats = sum(len(step.seats) for step in self.steps if step.group == group)
        return seats - sum(one.group == group for one in self.sitting.values())

    def of_step(self, name: str) -> list[Sitting]:
        return [one for one in self.sitting.values() if one.step == name]

    def place_all(self, group: int, nodes: Sequence[str]) -> Sequence[Sitting]:
        """Guess where the tasks are that have not reported it: Slurm fills node after node."""
        self.nodes[group] = tuple(nodes)
        here = [one for one in self.sitting.values() if one.group == group]
        return guess([one for one in here if not one.is_placed], nodes)

    @property
    def is_to_look_at(self) -> bool:
        """Once it runs: to read its time limit, and while a task is out of touch."""
        if self.phase is not Phase.RUNNING:
            return self.phase is Phase.PENDING
        return bool(self.sitting) and (self.limit_at is None or not self.is_quiet)

    @property
    def is_quiet(self) -> bool:
        """Is every task connected, so that nobody needs to look at the job?"""
        return all(one.is_heard for one in self.sitting.values())


def guess(sitting: Sequence[Sitting], nodes: Sequence[str]) -> Sequence[Sitting]:
    """A guess where each task is, until its runner says so."""
    for number, one in enumerate(sitting):
        one.node = one.node or (nodes[number * len(nodes) // len(sitting)] if nodes else "")
        one.is_placed = True
    return sitting


def placed(sitting: Iterable[Sitting]) -> TasksPlaced:
    """What the lifecycle receives about them."""
    return TasksPlaced(
        tuple(Placed(one.seat.task_id, one.node, one.node or "its node") for one in sitting)
    )


def seat_for(wanted: Wanted) -> Seat:
    return Seat(wanted.task_id, wanted.task, wanted.previous_port)


def cpus_of(one: Wanted | Seat) -> int:
    """Slurm counts whole CPUs."""
    return ceil(one.task.job.cpus)


def shape(job: Job) -> tuple[object, ...]:
    """What determines the component of a task: tasks of the same shape share one."""
    return (job.needs, job.constraints, job.image)


def steps_of(seats: Iterable[Seat], avoid: Sequence[str] = ()) -> tuple[Step, ...]:
    """One step for all tasks of a shape; those with GPUs have one each.

    A step keeps its GPUs until its last task has ended, so a restarted task could not get its own
    back. Processors and memory can be shared with a step that has not ended.
    """
    shapes: dict[tuple[object, ...], list[Seat]] = {}
    for seat in seats:
        shapes.setdefault(shape(seat.task.job), []).append(seat)
    steps = []
    for group, alike in enumerate(shapes.values()):
        each = bool(alike[0].task.job.gpus)
        for some in [[seat] for seat in alike] if each else [alike]:
            steps.append(Step(tuple(some), group, avoid=tuple(avoid)))
    return tuple(steps)


# What is done with jobs


def released(one: Allocation) -> CancelJob | ReleaseJob:
    """The script of a suspended job cannot end; one that retries a step waits for that first."""
    if one.is_retrying or one.is_suspended:
        return CancelJob(one.job_id, "its tasks are placed elsewhere")
    return ReleaseJob(one.job_id)


def cancelled(one: Allocation | None, reason: str) -> list[CancelJob]:
    """A job that has no number yet is cancelled when it has one."""
    return [CancelJob(one.job_id, reason)] if one and one.job_id else []


def let_go(one: Allocation) -> list[LetGo]:
    """A job that has no number yet is let go when it has one."""
    if not one.is_held or not one.job_id:
        return []
    one.is_held = False
    return [LetGo(one.job_id, one.key)]
