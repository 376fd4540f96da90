"""The job that tfmesos itself runs in, and whose nodes it is to use."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...core.actions import Wanted
from ...core.events import Event, Impossible, TasksLeftOut
from ...text import count
from ..elastic import most, rest
from .actions import Seat, Step
from .allocation import Allocation, Phase, cpus_of, seat_for, steps_of
from .api.batch_jobs import Component


class GivenAllocation:
    def __init__(self, job_id: str) -> None:
        """*job_id* is empty if there is none, and jobs are submitted."""
        self._job_id = job_id
        self._components: Sequence[Component] = ()  # only a heterogeneous job has several

    def __bool__(self) -> bool:
        return bool(self._job_id)

    def found(self, components: Sequence[Component]) -> Allocation:
        self._components = components
        given = Allocation("given", (), self._job_id, Phase.RUNNING, is_given=True)
        given.nodes.update((group, one.nodes) for group, one in enumerate(components))
        return given

    def place(
        self, given: Allocation, fresh: Sequence[Wanted]
    ) -> tuple[Sequence[Event], Sequence[Step]]:
        """The steps of all tasks, or of as many as there is room for."""
        if steps := self.steps_for(given, fresh):
            return [], steps
        shortage = self.shortage(given, fresh)
        kept = most(fresh, lambda some: self.steps_for(given, some) is not None)
        if kept is None:
            return [Impossible(shortage)], []
        return [TasksLeftOut(rest(fresh, kept), shortage)], self.steps_for(given, kept) or []

    def steps_for(self, given: Allocation, fresh: Sequence[Wanted]) -> list[Step] | None:
        """A task that was there before gets a step on its node; None if not all fit."""
        rooms = [_Room(component) for component in self._components]
        for sitting in given.sitting.values():
            rooms[sitting.group].take(sitting.seat)
        first: dict[int, list[Seat]] = {}
        again: list[Step] = []
        for wanted in fresh:
            seat, node = seat_for(wanted), _previous_node(wanted)
            group = _group_for(seat, node, rooms)
            if group is None:
                return None
            rooms[group].take(seat)
            if node in rooms[group].component.nodes:
                again.append(Step((seat,), group, node))
            else:
                first.setdefault(group, []).append(seat)
        steps = [step.replace(group=group) for group in first for step in steps_of(first[group])]
        return [*steps, *again]

    def shortage(self, given: Allocation, fresh: Sequence[Wanted]) -> str:
        """What all tasks together ask for, and what the allocation has."""
        seats = [*(one.seat for one in given.sitting.values()), *map(seat_for, fresh)]
        needs = [count(sum(map(cpus_of, seats)), "CPU")]
        has = [count(_sum(one.cpus for one in self._components), "CPU")]
        if gpus := sum(seat.task.job.gpus for seat in seats):
            needs.append(count(gpus, "GPU"))
            has.append(count(_sum(one.gpus for one in self._components), "GPU"))
        parts = len(self._components)
        where = f" in {parts} components" if parts > 1 else ""
        job = f"Slurm job {self._job_id}, in which tfmesos runs, has {' and '.join(has)}{where}"
        return f"the tasks need {' and '.join(needs)}; {job}"


class _Room:
    def __init__(self, component: Component) -> None:
        self.component = component
        self._cpus = 0  # that are taken
        self._gpus = 0

    def take(self, seat: Seat) -> None:
        self._cpus += cpus_of(seat)
        self._gpus += seat.task.job.gpus

    def holds(self, seat: Seat) -> bool:
        cpus, gpus = self.component.cpus, self.component.gpus
        has_cpus = cpus is None or self._cpus + cpus_of(seat) <= cpus
        return has_cpus and (gpus is None or self._gpus + seat.task.job.gpus <= gpus)


def _group_for(seat: Seat, node: str, rooms: Sequence[_Room]) -> int | None:
    """The component where it was, else one that tasks with other needs will not use."""

    def key(group: int) -> tuple[bool, bool]:
        component = rooms[group].component
        return node not in component.nodes, bool(component.gpus) != bool(seat.task.job.gpus)

    order = sorted(range(len(rooms)), key=key)
    return next((group for group in order if rooms[group].holds(seat)), None)


def _previous_node(wanted: Wanted) -> str:
    return wanted.previous_place.node if wanted.previous_place else ""


def _sum(numbers: Iterable[int | None]) -> int:
    return sum(number or 0 for number in numbers)
