"""The pods of a run: which task each one is for, and how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...config.job import Task
from ...core.actions import Wanted
from .actions import NewPod


@dataclass(slots=True, eq=False)
class Attempt:
    """One pod, and what we know of it."""

    name: str
    task_id: str
    task: Task
    is_placed: bool = False  # and the lifecycle knows
    is_ended: bool = False  # likewise
    is_given_up: bool = False  # it is not reported any more
    is_known: bool = False  # the server has reported it
    is_seen: bool = False  # its container runs
    is_cut_off: bool = False  # its node is silent
    leaving: str = ""  # why somebody else deletes it
    was_killed: bool = False  # by us
    is_kept: bool = False  # it goes on while another one waits for its place
    refusal: str = ""  # the scheduler's words
    trouble: str = ""  # why its container does not start
    trouble_since: float = 0.0
    hopeless_at: float | None = None  # when that counts as its end

    @property
    def is_live(self) -> bool:
        return not (self.is_ended or self.is_given_up)


class Attempts:
    def __init__(self) -> None:
        self._by_name: dict[str, Attempt] = {}
        self._by_task: dict[str, Attempt] = {}  # the last one of each task id
        self._used: dict[str, int] = {}  # how often a name was wanted

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._by_name.values())

    def add(self, task_id: str, task: Task) -> NewPod:
        attempt = Attempt(self._new_name(task), task_id, task)
        self._by_name[attempt.name] = self._by_task[task_id] = attempt
        return NewPod(attempt.name, task_id, task)

    def _new_name(self, task: Task) -> str:
        """Job names that differ only in case or underscores must not collide."""
        name = f"{task.job.name.lower().replace('_', '-').strip('-')}-{task.index}"
        self._used[name] = number = self._used.get(name, 0) + 1
        return name if number == 1 else f"{name}-{number}"

    def named(self, name: str) -> Attempt | None:
        return self._by_name.get(name)

    def of_task(self, task_id: str) -> Attempt | None:
        found = self._by_task.get(task_id)
        return found if found and not found.is_given_up else None

    def waiting(self) -> list[Attempt]:
        """The attempts that have no place."""
        return [one for one in self if one.is_live and not one.is_placed]

    def replaced(self, wanted: Iterable[Wanted]) -> list[str]:
        """Give up older attempts of tasks that are *wanted* again; return the names of the pods."""
        new = {one.task.name: one.task_id for one in wanted}
        old = [one for one in self if new.get(one.task.name, one.task_id) != one.task_id]
        return self.give_up(old)

    def give_up(self, attempts: Iterable[Attempt]) -> list[str]:
        """Forgets these attempts; returns the names of their pods."""
        names = []
        for one in attempts:
            one.is_given_up = True
            del self._by_name[one.name]
            names.append(one.name)
        return names
