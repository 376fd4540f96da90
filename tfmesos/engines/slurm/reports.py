"""What the lifecycle learns about tasks from their runners, their step and their job."""

from __future__ import annotations

from ...core.events import Event, NodeDrained, TaskEnded, TasksPlaced
from ...errors import EVICTED
from .allocation import Allocation, Phase, Sitting, guess, placed
from .api.job_states import JobEnd
from .events import StepEnded


def registered(one: Allocation, sitting: Sitting, node: str) -> list[TasksPlaced]:
    told = _found_at(one, sitting, node)
    sitting.is_heard = sitting.has_registered = True
    return told


def exited(one: Allocation, sitting: Sitting, node: str) -> list[TasksPlaced]:
    """A runner may end before it registers, and before squeue says that its job runs."""
    del one.sitting[sitting.seat.task_id]
    known = one.nodes.get(sitting.group, ())
    return _found_at(one, sitting, node or sitting.node or next(iter(known), ""))


def _found_at(one: Allocation, sitting: Sitting, node: str) -> list[TasksPlaced]:
    """The runner says where it is; Slurm reports at most the nodes of its job."""
    is_news = not sitting.is_placed or (node and node != sitting.node)
    one.phase = Phase.RUNNING
    one.is_retrying = False
    sitting.node = node or sitting.node
    sitting.is_placed = True
    known = one.nodes.get(sitting.group, ())
    if sitting.node and sitting.node not in known:
        one.nodes[sitting.group] = (*known, sitting.node)
    return [placed([sitting])] if is_news else []


def job_ended(one: Allocation, end: JobEnd) -> list[Event]:
    told: list[Event] = []
    unplaced = [sitting for sitting in one.sitting.values() if not sitting.is_placed]
    if unplaced:
        told.append(placed(guess(unplaced, ())))
    if one.phase < Phase.RUNNING:
        end = end.replace(reason=end.reason.replace(EVICTED, "was not started"))
    if end.reason.startswith(EVICTED):  # each is known before the first is acted on
        told += [
            NodeDrained(task_id, end.reason, end.is_lost, end.is_notice) for task_id in one.sitting
        ]
    told += [
        TaskEnded(task_id, end.code, end.reason, end.is_lost, is_hopeless=end.is_hopeless)
        for task_id in one.sitting
    ]
    return told


def step_ended(one: Allocation, ended: StepEnded) -> list[Event]:
    """Tasks that have reported their end are no longer listed."""
    told: list[Event] = []
    left = one.of_step(ended.name)
    unplaced = [sitting for sitting in left if not sitting.is_placed]
    told += [placed(guess(unplaced, one.nodes.get(0, ())))] if unplaced else []
    for sitting in left:
        if ended.code == 0 and sitting.has_registered:
            continue  # its report is on its way
        del one.sitting[sitting.seat.task_id]
        code = ended.code or 1
        told.append(TaskEnded(sitting.seat.task_id, code, f"exited with {code}"))
    return told
