"""The tasks of a run and how far each has come, counted so that no question costs a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from .actions import Ending
from .constraints import Node
from .home import Home
from .placement import Place
from .spec import Task


class Stage(IntEnum):
    RESTING = 1  # until it is launched again
    WAITING = 2  # for a place
    LAUNCHED = 3
    REGISTERED = 4
    STARTED = 5  # was told the cluster spec
    READY = 6  # its command runs
    ENDED = 7


DECIDING_JOBS = ("chief", "master", "worker")
_WITH_RUNNER = (Stage.REGISTERED, Stage.STARTED, Stage.READY)


@dataclass(slots=True, eq=False)
class Member:
    """A task of the run and what became of it."""

    task: Task
    stage: Stage = Stage.WAITING
    attempt: int = 1
    task_id: str = ""
    agent_id: str = ""
    hostname: str = ""
    agent_url: str = ""
    node: Node | None = None  # what constraints see of its agent
    address: str = ""
    ready_at: float = 0.0
    ending: Ending | None = None
    told_address: str = ""  # where the others look for it
    home: Home | None = None  # the place to have it there again

    @property
    def is_live(self) -> bool:
        return Stage.WAITING < self.stage < Stage.ENDED

    @property
    def has_runner(self) -> bool:
        return self.stage in _WITH_RUNNER

    @property
    def is_here(self) -> bool:
        """Does it run beside the launcher?"""
        return self.stage >= Stage.LAUNCHED and not self.agent_id


class Roster:
    def __init__(self, tasks: Sequence[Task], run_id: str) -> None:
        self._members = {task.name: Member(task) for task in tasks}
        self._run_id = run_id
        self._by_id: dict[str, Member] = {}
        self._count = Counter({Stage.WAITING: len(tasks)})

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def live(self, task_id: str) -> Member | None:
        """The member whose present attempt this is, unless it has ended."""
        member = self._by_id.get(task_id)
        if member is None or not member.is_live or member.task_id != task_id:
            return None
        return member

    def latest(self, task_id: str) -> Member | None:
        """The member whose last attempt this is, whatever became of it."""
        member = self._by_id.get(task_id)
        return member if member and member.task_id == task_id else None

    def is_stray(self, task_id: str) -> bool:
        """Is this an attempt that was given up, or a task of nobody?"""
        member = self._by_id.get(task_id)
        return member is None or member.task_id != task_id

    def move(self, member: Member, stage: Stage) -> None:
        self._count[member.stage] -= 1
        self._count[stage] += 1
        member.stage = stage

    def launch(self, task: Task, place: Place) -> Member:
        """Note where *task* goes, under a task id of its own for every attempt."""
        member = self._members[task.name]
        member.agent_id, member.hostname = place.agent_id, place.hostname
        member.agent_url, member.node = place.agent_url, place.node
        task_id = f"{self._run_id}-{task.job.name}-{task.index}-{member.attempt}"
        return self._launched(member, task_id)

    def seat_here(self, task: Task, task_id: str, address: str) -> None:
        """*task* runs beside the launcher: it needs no place, and is as good as registered."""
        member = self._launched(self._members[task.name], task_id)
        member.hostname, member.address = "this machine", address
        self.move(member, Stage.REGISTERED)

    def again(self, member: Member) -> None:
        """Have *member* wait for a place as another attempt, nothing of the last one left."""
        member.attempt += 1
        member.ending = None
        self.move(member, Stage.WAITING)

    def not_launched(self, task_ids: Iterable[str]) -> None:
        """Nobody has taken these: they wait for a place as before."""
        for member in filter(None, map(self.live, task_ids)):
            self.move(member, Stage.WAITING)

    def _launched(self, member: Member, task_id: str) -> Member:
        member.task_id = task_id
        self._by_id[task_id] = member
        self.move(member, Stage.LAUNCHED)
        return member

    def waiting(self) -> list[Member]:
        if not self._count[Stage.WAITING]:
            return []
        return [member for member in self if member.stage is Stage.WAITING]

    def seated(self) -> list[tuple[Task, Node]]:
        """The tasks that are on agents, and where: those that join them must look at that."""
        if not self.any_live:
            return []
        return [(m.task, m.node) for m in self if m.is_live and m.node and m.task.job.constraints]

    @property
    def with_runner(self) -> int:
        return sum(self._count[stage] for stage in _WITH_RUNNER)

    @property
    def any_live(self) -> bool:
        return bool(self._count[Stage.LAUNCHED] or self.with_runner)

    def all_at_least(self, stage: Stage) -> bool:
        return not any(self._count[earlier] for earlier in Stage if earlier < stage)

    def failures_besides(self, cause: Ending | None) -> tuple[Ending, ...]:
        """How the others ended that failed by themselves, the earliest first."""
        endings = [m.ending for m in self if m.ending and m.ending.code]
        others = [end for end in endings if end is not cause and not end.was_stopped]
        return tuple(sorted(others, key=lambda ending: ending.at))

    def cluster(self) -> dict[str, list[str]]:
        """The cluster spec: job name to the addresses of its tasks."""
        spec: dict[str, list[str]] = {}
        for member in self:
            spec.setdefault(member.task.job.name, []).append(member.address)
        return spec


def deciding(tasks: Sequence[Task]) -> set[Task]:
    """Those whose success is the success of the run: the chief, else the workers, else all."""
    commands = {task for task in tasks if task.job.cmd is not None}
    for name in DECIDING_JOBS:
        if chosen := {task for task in commands if task.job.name == name}:
            return chosen
    return commands
