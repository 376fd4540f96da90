"""What runners report about themselves: where they are, and that they have ended."""

from __future__ import annotations

from ...core.events import TasksPlaced
from .allocation import Allocation, Phase, Sitting, placed


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
