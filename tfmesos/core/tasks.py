"""The tasks of a run and their stages, counted so that no query needs a search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..config.job import Task
from ..text import join_names
from .actions import PreviousPlace, Wanted
from .events import Placed
from .outcome import Ending


class Stage(IntEnum):
    PAUSING = 1  # until it is launched again
    WAITING = 2  # for a place
    LAUNCHED = 3
    REGISTERED = 4
    STARTED = 5  # has received the cluster spec
    READY = 6  # its command runs
    ENDED = 7


_WITH_RUNNER = (Stage.REGISTERED, Stage.STARTED, Stage.READY)


@dataclass(slots=True, eq=False)
class Member:
    """A task of the run and its state."""

    task: Task
    task_id: str  # of the present attempt
    stage: Stage = Stage.WAITING
    attempt: int = 1
    node: str = ""  # the engine's name for it
    hostname: str = ""
    runs_here: bool = False  # does it run beside the launcher?
    address: str = ""
    port: int = 0
    shown_at: str = ""  # the address where people find it
    ready_at: float = 0.0
    ending: Ending | None = None
    previous_address: str = ""  # where the others look for it
    previous_place: PreviousPlace | None = None  # the place at which to restore it
    is_to_restart: bool = False  # the owner wants that, and it has not ended yet
    is_told_to_end: bool = False  # its runner has been
    is_held: bool = False  # its command has failed, and it waits for its owner

    @property
    def is_live(self) -> bool:
        return Stage.WAITING < self.stage < Stage.ENDED

    @property
    def has_runner(self) -> bool:
        return self.stage in _WITH_RUNNER


class Tasks:
    def __init__(self, tasks: Sequence[Task], run_id: str) -> None:
        self._run_id = run_id
        self._attempts: Counter[str] = Counter()  # by the name of the task, those that are over
        self.begin(tasks)

    def begin(self, tasks: Iterable[Task]) -> None:
        """These are the tasks from now on, and nothing is left of the previous ones."""
        self._members = [self._new_member(task) for task in tasks]
        self._by_id = {member.task_id: member for member in self._members}
        self._count = Counter({Stage.WAITING: len(self._members)})
        self.lingering: set[str] = set()  # attempts that have ended, but whose runner lives
        self.auxiliary = [member for member in self._members if member.task.is_auxiliary]

    def _new_member(self, task: Task) -> Member:
        """A new id for an attempt, different from all others."""
        self._attempts[task.name] += 1
        attempt = self._attempts[task.name]
        return Member(task, self._task_id(task, attempt), attempt=attempt)

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members)

    def _task_id(self, task: Task, attempt: int) -> str:
        return f"{self._run_id}-{task.job.name}-{task.index}-{attempt}"

    def live(self, task_id: str) -> Member | None:
        """The member whose present attempt this is, unless it has ended."""
        member = self._by_id.get(task_id)
        if member is None or not member.is_live or member.task_id != task_id:
            return None
        return member

    def is_stray(self, task_id: str) -> bool:
        """Is this an attempt that was given up, or one that belongs to no task?"""
        member = self._by_id.get(task_id)
        return member is None or member.task_id != task_id

    def move(self, member: Member, stage: Stage) -> None:
        self._count[member.stage] -= 1
        self._count[stage] += 1
        member.stage = stage

    def launch(self, place: Placed) -> None:
        member = self._by_id[place.task_id]
        member.node = place.node
        member.hostname = place.hostname
        self.move(member, Stage.LAUNCHED)

    def not_launched(self, task_ids: Iterable[str]) -> None:
        """Nothing was launched for these: they wait for a place as before."""
        for member in filter(None, map(self.live, task_ids)):
            self.move(member, Stage.WAITING)

    def add_local(self, task: Task, task_id: str, address: str) -> None:
        """*task* runs beside the launcher: it needs no place, and is as good as registered."""
        member = next(member for member in self if member.task == task)
        member.task_id = task_id
        member.runs_here = True
        member.hostname = "this machine"
        member.address = address
        self._by_id[task_id] = member
        self.move(member, Stage.REGISTERED)

    def retry(self, member: Member) -> None:
        """Have *member* wait for a place as another attempt, nothing of the last one left."""
        self.lingering.discard(member.task_id)
        member.attempt += 1
        self._attempts[member.task.name] = member.attempt
        member.task_id = self._task_id(member.task, member.attempt)
        member.ending = None
        member.is_to_restart = False
        member.is_told_to_end = False
        member.is_held = False
        self._by_id[member.task_id] = member
        self.move(member, Stage.WAITING)

    def waiting(self) -> list[Member]:
        if not self._count[Stage.WAITING]:
            return []
        return [member for member in self if member.stage is Stage.WAITING]

    def wanted(self, are_all_needed: bool = False) -> tuple[Wanted, ...]:
        """What to request from the engine for waiting tasks."""
        return tuple(
            Wanted(m.task_id, m.task, m.previous_place, m.task.is_optional and not are_all_needed)
            for m in self.waiting()
        )

    def next_wanted(self, tasks: Iterable[Task]) -> tuple[Wanted, ...]:
        """What will be requested from the engine if these *tasks* are the next generation."""
        return tuple(
            Wanted(
                self._task_id(task, self._attempts[task.name] + 1),
                task,
                is_optional=task.is_optional,
            )
            for task in tasks
        )

    def leave_out(self, task_ids: Iterable[str]) -> list[Member]:
        """The run begins without these, as far as they still wait."""
        ids = set(task_ids)
        left = [m for m in self.waiting() if m.task_id in ids and m.task.is_optional]
        for member in left:
            self._members.remove(member)
            del self._by_id[member.task_id]
            self._count[Stage.WAITING] -= 1
        return left

    def by_job(self) -> Counter[str]:
        """How many tasks each job has."""
        return Counter(member.task.job.name for member in self)

    def named(self, task_ids: Iterable[str]) -> list[str]:
        """The names of those of these tasks that are alive."""
        return [member.task.name for member in filter(None, map(self.live, task_ids))]

    def by_name(self, name: str) -> Member | None:
        return next((member for member in self if member.task.name == name), None)

    def to_restart(self, name: str) -> tuple[str, str]:
        """The id of a task by its name, and why it cannot be started again, if it cannot."""
        member = self.by_name(name)
        if member is None:
            return "", f"there is no task {name!r}"
        problem = self.why_not_restart(member.task_id)
        return member.task_id, f"{name} {problem}" if problem else ""

    def to_enter(self, name: str) -> tuple[str, str]:
        """The id of a task by its name, and why nobody can enter it, if so."""
        member = self.by_name(name)
        if member is None:
            return "", f"there is no task {name!r}"
        if member.runs_here:
            return "", f"{name} runs in the terminal of the launcher"
        is_there = member.stage in (Stage.STARTED, Stage.READY)
        return member.task_id, "" if is_there else f"{name} is not running"

    def why_not_restart(self, task_id: str) -> str:
        """Why the owner of the run cannot restart it; empty if possible."""
        member = self.live(task_id)
        if member is None or member.stage is not Stage.READY:
            return "is not running"
        if member.is_to_restart:
            return "is being started again already"
        return (
            "runs in the terminal of the launcher and cannot be restarted"
            if member.runs_here
            else ""
        )

    def held(self) -> list[Member]:
        """The tasks whose command has failed and which are held for the owner of the run."""
        return [member for member in self if member.is_held and member.is_live]

    def still_running(self) -> str:
        """In words."""
        live = [member.task.name for member in self if member.is_live]
        return f"still running: {join_names(live)}" if live else "all its tasks have ended"

    @property
    def with_runner(self) -> int:
        return sum(self._count[stage] for stage in _WITH_RUNNER)

    @property
    def live_count(self) -> int:
        return self._count[Stage.LAUNCHED] + self.with_runner

    @property
    def is_complete(self) -> bool:
        """Has every task a runner, except those that the run can do without?"""
        without = sum(member.stage is Stage.ENDED for member in self.auxiliary)
        return self.with_runner == len(self) - without

    def any_at(self, stage: Stage) -> bool:
        return self._count[stage] > 0

    def all_at_least(self, stage: Stage) -> bool:
        """Auxiliary tasks do not count."""
        earlier = sum(self._count[one] for one in Stage if one < stage)
        return earlier == sum(member.stage < stage for member in self.auxiliary)

    def failures_besides(self, cause: Ending | None) -> tuple[Ending, ...]:
        """How other tasks failed by themselves, the earliest first; without auxiliary tasks."""
        members = [member for member in self if not member.task.is_auxiliary]
        endings = [m.ending for m in members if m.ending and m.ending.code]
        others = [end for end in endings if end is not cause and not end.was_stopped]
        return tuple(sorted(others, key=lambda ending: ending.at))

    def cluster(self) -> dict[str, list[str]]:
        """The cluster spec: task type to the addresses of its tasks."""
        spec: dict[str, list[str]] = {}
        for member in self:
            if member.address or not member.task.is_auxiliary:
                spec.setdefault(member.task.type, []).append(member.address)
        return spec
