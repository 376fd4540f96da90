"""What runners report of themselves: where they are, and that they have ended."""

from __future__ import annotations

from ...core.events import TasksPlaced
from .allocation import Allocation, Phase, Sitting, guess, placed


def registered(one: Allocation, sitting: Sitting, node: str) -> list[TasksPlaced]:
    """It says where it is: Slurm has told its job's nodes at most."""
    is_news = not sitting.is_placed or (node and node != sitting.node)
    one.phase = Phase.RUNNING
    sitting.node = node or sitting.node
    sitting.is_placed = sitting.is_heard = sitting.has_registered = True
    known = one.nodes.get(sitting.group, ())
    if sitting.node and sitting.node not in known:
        one.nodes[sitting.group] = (*known, sitting.node)
    return [placed([sitting])] if is_news else []


def exited(one: Allocation, sitting: Sitting) -> list[TasksPlaced]:
    """It may have ended before it registered, and before squeue said that its job runs."""
    del one.sitting[sitting.seat.task_id]
    one.phase = Phase.RUNNING
    if sitting.is_placed:
        return []
    return [placed(guess([sitting], one.nodes.get(sitting.group, ())))]
