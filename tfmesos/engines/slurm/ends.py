"""Tasks that end with their job or their step, as the lifecycle learns it."""

from __future__ import annotations

from ...core.events import Event, NodeDrained, TaskEnded
from ...errors import EVICTED
from .allocation import Allocation, Phase, guess, placed
from .events import StepEnded
from .job_states import JobEnd


def with_job(one: Allocation, end: JobEnd) -> list[Event]:
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


def with_step(one: Allocation, ended: StepEnded) -> list[Event]:
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
