"""A rolling update: the changed tasks are restarted one after the other.

Addresses, cluster and generation stay the same. The next task is stopped when the previous one has
run for a while. A task that fails twice goes back to its old definition, and the update stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import inf

from ...config.job import Task
from ...config.jobs import tasks_of
from ...record import Record
from ...text import agreeing, count, join_names
from ..actions import Action, BeginRolling, EndRolling, Say
from ..endings import End
from ..events import UpdateRequested
from ..phases import Phase
from ..placing import Placing
from ..requested_restarts import RequestedRestarts
from ..restarts import PREVIOUS_PLACE_ONLY, Restart
from ..tasks import Member, Stage, Tasks
from ..waiting import Wait
from .sequence import Generations

SETTLED_AFTER = 5.0  # seconds that a task has to run before the next one is stopped
PLACED_WITHIN = 60.0  # seconds that a task has to find its place again
MOST_FAILURES = 2  # of one task
RETRY_PAUSE = 1.0  # seconds before the second attempt

UPDATED = "starting it again, updated"
AS_BEFORE = "starting it again as it was before the update"


class Before(Record):
    """What a task was before it was changed."""

    task: Task
    address: str


class Rolling:
    def __init__(
        self,
        members: Tasks,
        generations: Generations,
        requested: RequestedRestarts,
        placing: Placing,
        wait: Wait,
    ) -> None:
        self._members = members
        self._generations = generations
        self._requested = requested
        self._placing = placing
        self._wait = wait
        self._tasks: dict[str, Task] = {}  # as they are to be, by their names
        self._before: dict[Member, Before] = {}  # of those that were changed
        self._failures: Counter[Member] = Counter()

    def deadline_in(self, phase: Phase) -> float | None:
        if phase is not Phase.RUNNING or not self._generations.is_rolling:
            return None
        if waiting := self._waiting():
            return min(_placed_by(member) for member in waiting)
        return self._settled_at() if self._is_calm() else None

    def begin(self, update: UpdateRequested, now: float) -> list[Action]:
        """Go on with these jobs. Another such update may be under way: then this one undoes it."""
        if not self._generations.is_rolling:
            self._before.clear()
        self._failures.clear()
        self._generations.roll(update.jobs)
        self._tasks = {task.name: task for task in tasks_of(update.jobs)}
        for member in self._before:
            if member.stage < Stage.LAUNCHED or member.is_to_restart:
                member.task = self._new(member)
        names = tuple(member.task.name for member in self._left())
        change = "; ".join(update.difference)
        how = f"updating {count(len(names), 'task')}, one after the other"
        begun = BeginRolling(update.jobs, change, names)
        said = Say(f"{change}: {how}", "notice")
        return [begun, said, *self._place_again(), *self.go_on(now)]

    def tick(self, now: float) -> list[Action]:
        """Called at the deadline."""
        if any(now >= _placed_by(member) for member in self._waiting()):
            return self.give_up(self._wait.text(), now)
        return self.go_on(now)

    def go_on(self, now: float) -> list[Action]:
        """Stop the next task, if all run and the last one has done so for a while."""
        if not self._generations.is_rolling or not self._is_calm():
            return []
        settled_at = self._settled_at()
        if settled_at is not None and now < settled_at:
            return []
        for member, before in self._before.items():
            if member.is_live and member.address != before.address:
                name = member.task.name
                return self._stop(f"{name} was at {before.address} and is at {member.address}")
        left = self._left()
        return self._change(left[0]) if left else self._end()

    def after_failure(self, end: End, had_started: bool) -> tuple[Restart, Sequence[Action]] | None:
        """How a changed task continues, and what else to do; None: as usual."""
        member = end.member
        before = self._before.get(member)
        if before is None or not self._generations.is_rolling:
            return None
        is_outside = end.is_lost if had_started else end.is_transient
        if is_outside or member.is_to_restart:
            return None
        if member.task != self._new(member):  # it failed before it could be changed back
            member.task = self._new(member)
            return _restart(UPDATED, PLACED_WITHIN), ()
        self._failures[member] += 1
        if self._failures[member] < MOST_FAILURES and not end.is_hopeless:
            words = f"{UPDATED}, a second time"
            return _restart(words, PLACED_WITHIN, RETRY_PAUSE), ()
        member.task = before.task
        times = "" if end.is_hopeless else " twice"
        ended = self._stop(f"{member.task.name} failed{times} ({end.reason})")
        return _restart(AS_BEFORE, PREVIOUS_PLACE_ONLY), ended

    def give_up(self, problem: str, now: float) -> list[Action]:
        """Change tasks that are being updated back to what they were; nothing if there are none."""
        away = [member for member in self._before if member.stage < Stage.READY]
        if not away or not self._generations.is_rolling:
            return []
        todo: list[Action] = []
        for member in away:
            member.task = self._before[member].task
            if member.stage > Stage.WAITING:
                todo.append(self._start_again(member, AS_BEFORE, PREVIOUS_PLACE_ONLY))
            elif member.previous_place is not None:
                until = now + PREVIOUS_PLACE_ONLY
                member.previous_place = member.previous_place.replace(until=until)
        self._wait.begin(now)
        return [*todo, *self._stop(f"{_names(away)}: {problem}"), *self._place_again()]

    # Tasks

    def _new(self, member: Member) -> Task:
        return self._tasks.get(member.task.name, member.task)

    def _left(self) -> list[Member]:
        """Those that have yet to be changed."""
        live = [member for member in self._members if member.stage is not Stage.ENDED]
        return [member for member in live if member.task != self._new(member)]

    def _waiting(self) -> list[Member]:
        return [member for member in self._before if member.stage < Stage.LAUNCHED]

    def _is_calm(self) -> bool:
        """Does every task run that has not ended?"""
        for member in self._members:
            is_held = member.is_held and member in self._before
            is_up = member.stage is Stage.READY and not member.is_to_restart and not is_held
            if not is_up and member.stage is not Stage.ENDED:
                return False
        return True

    def _settled_at(self) -> float | None:
        """When those that were changed have run long enough; None if there are none."""
        times = [member.ready_at for member in self._before if member.is_live]
        return max(times) + SETTLED_AFTER if times else None

    def _change(self, member: Member) -> list[Action]:
        self._before[member] = Before(member.task, member.address)
        member.task = self._new(member)
        return [self._start_again(member, UPDATED, PLACED_WITHIN)]

    def _start_again(self, member: Member, words: str, keeps_place: float) -> Action:
        restart = _restart(words, keeps_place).replace(is_planned=True)
        return self._requested.start_again(member, restart, "it is updated")

    def _place_again(self) -> list[Action]:
        """For tasks that wait for a place, as what they are now."""
        return [self._placing.request(Phase.RUNNING)] if self._members.waiting() else []

    # Ends

    def _end(self) -> list[Action]:
        self._generations.end_rolling()
        said = Say("the rolling update is complete", "notice")
        return [EndRolling(self._generations.jobs), said]

    def _stop(self, problem: str) -> list[Action]:
        """Leave all tasks as they are now."""
        updated = [m for m, old in self._before.items() if m.is_live and m.task != old.task]
        self._generations.stop_rolling(is_undone=not updated)
        rest = "and all tasks are as before"
        if updated:
            has = agreeing(len(updated), "has", "have")
            rest = f"but {_names(updated)} {has} been updated: tfrun update ID --back undoes that"
        words = f"{problem}; the rolling update has stopped, {rest}"
        return [EndRolling(self._generations.jobs, words), Say(words, "warning")]


def _names(members: Sequence[Member]) -> str:
    return join_names([member.task.name for member in members])


def _placed_by(member: Member) -> float:
    return member.previous_place.until if member.previous_place else inf


def _restart(words: str, keeps_place: float, pause: float = 0.0) -> Restart:
    return Restart(False, 0, inf, pause, words=words, keeps_place=keeps_place)
