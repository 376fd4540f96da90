"""The job that tfmesos itself runs in, and whose nodes it is to use."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.actions import Wanted
from ...text import count
from .actions import Step
from .allocation import Allocation, Phase, cpus_of, seat_for, steps_of


class GivenAllocation:
    def __init__(self, job_id: str) -> None:
        """*job_id* is empty if there is none, and jobs are submitted."""
        self._job_id = job_id
        self._cpus = 0

    def __bool__(self) -> bool:
        return bool(self._job_id)

    def found(self, nodes: tuple[str, ...], cpus: int) -> Allocation:
        """It has these nodes, and so many processors, or 0 if that is not known."""
        self._cpus = cpus
        given = Allocation("given", (), self._job_id, Phase.RUNNING, is_given=True)
        given.nodes[0] = nodes
        return given

    def shortage(self, given: Allocation, fresh: Sequence[Wanted]) -> str:
        """Why it can never hold these tasks, too; empty if it can."""
        needed = sum(map(cpus_of, fresh))
        used = sum(cpus_of(one.seat) for one in given.sitting.values())
        if not self._cpus or needed + used <= self._cpus:
            return ""
        has = f"job {self._job_id}, in which tfmesos runs, has {self._cpus}"
        return f"the tasks need {count(needed + used, 'CPU')}, Slurm {has}"


def steps_inside(fresh: Sequence[Wanted]) -> list[Step]:
    """A task that was there before gets a step of its own on its node."""
    first: list[Wanted] = []
    again: list[Step] = []
    for one in fresh:
        if one.previous_place and one.previous_place.node:
            again.append(Step((seat_for(one),), 0, one.previous_place.node))
        else:
            first.append(one)
    return [*(step.replace(group=0) for step in steps_of(map(seat_for, first))), *again]
