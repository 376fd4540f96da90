"""The state of a run, derived from its record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from typing import Any

from ..config.job import TENSORBOARD, Job
from ..core import events as happened
from ..core.actions import BeginGeneration, BeginRolling, EndRolling
from ..json_types import Json
from ..launcher.deciders import Beginning
from ..text import agreeing, count, join_names
from .event_json import from_json
from .run_files import RunDirectory
from .takeover.lost_runs import is_final

LOST = "lost"  # its launcher died, and nobody wrote down how it ended
ENDED = "ended"  # of a run that succeeded, whose record has no end of this task
ELSEWHERE = "on another machine"  # of which nothing can be known here
HELD = "held"  # its command failed, and its owner is to look at what is left of it
LIVING = ("waiting", "starting", "running", HELD)


@dataclass(slots=True)
class TaskStatus:
    name: str
    job: str
    type: str = ""  # to TensorFlow
    state: str = "waiting"  # starting, running, held, succeeded, failed, stopped
    node: str = ""
    address: str = ""
    shown_at: str = ""  # the address where people find it
    restarts: int = 0
    code: int | None = None
    reason: str = ""
    began: float | None = None  # seconds after the beginning of the run
    ended: float | None = None


@dataclass(slots=True)
class RollingUpdate:
    """Tasks that were, or are, changed one after the other within a generation."""

    at: float  # seconds after the beginning of the run
    why: str  # what changes, in words
    tasks: tuple[str, ...]  # that are changed
    is_going_on: bool = True
    problem: str = ""  # why it has stopped

    @property
    def words(self) -> str:
        end = self.problem or ("not complete" if self.is_going_on else "complete")
        return f"rolling update of {count(len(self.tasks), 'task')}: {end}"


@dataclass(slots=True)
class Generation:
    number: int
    at: float  # seconds after the beginning of the run
    why: str
    shape: dict[str, int]  # how many tasks of each job
    wall: float = 0.0  # when it began, in seconds since 1970
    updates: list[RollingUpdate] = field(default_factory=list)

    @property
    def words(self) -> str:
        return ", ".join(f"{number} {job}" for job, number in self.shape.items())


@dataclass(slots=True)
class RunStatus:
    """The state of a run: its tasks by name, and what it waits for."""

    phase: str = "starting"  # running, stopping
    why: str = ""
    tasks: dict[str, TaskStatus] = field(default_factory=dict)
    stays_at: str = ""  # of a TensorBoard that alone is left of the run
    generations: list[Generation] = field(default_factory=list)

    def span(self, generation: int) -> tuple[float, float] | None:
        """From when to when it ran, in seconds since 1970; None if it does not exist."""
        times = {one.number: one.wall for one in self.generations}
        if generation not in times:
            return None
        return times[generation] if generation else 0.0, times.get(generation + 1, inf)

    @property
    def updates(self) -> list[RollingUpdate]:
        """The rolling updates."""
        return [update for one in self.generations for update in one.updates]

    @property
    def generation(self) -> int:
        """The number of the present generation."""
        return self.generations[-1].number if self.generations else 0

    def counts(self) -> dict[str, dict[str, int]]:
        """By job: how many of its tasks are in which state."""
        found: dict[str, dict[str, int]] = {}
        for task in self.tasks.values():
            job = found.setdefault(task.job, {})
            job[task.state] = job.get(task.state, 0) + 1
        return found

    def tensorboards(self) -> list[str]:
        """The address of each running TensorBoard."""
        boards = (task for task in self.tasks.values() if task.type == TENSORBOARD)
        return [f"http://{task.shown_at}" for task in boards if task.state == "running"]

    @property
    def is_waiting(self) -> bool:
        """Does ``why`` say what it waits for, rather than why it ends or stays?"""
        return self.phase != "stopping" and not self.stays_at

    @property
    def is_left_to_tensorboard(self) -> bool:
        """Have all other tasks ended, so that only TensorBoard is left?"""
        others = self._others
        return (
            bool(others)
            and len(others) < len(self.tasks)
            and all(task.ended is not None for task in others)
        )

    @property
    def _others(self) -> list[TaskStatus]:
        """All tasks but TensorBoard, without which a run goes on."""
        return [task for task in self.tasks.values() if task.type != TENSORBOARD]

    @property
    def has_begun(self) -> bool:
        """Have all tasks begun that the run needs? They may even have ended already."""
        return all(task.began is not None for task in self._others)

    def jobs(self) -> dict[str, dict[str, int]]:
        """By job: the counts, the usual ones even if they are 0, and its restarts."""
        found = {
            job: {"running": 0, "succeeded": 0, "failed": 0, **states, "restarts": 0}
            for job, states in self.counts().items()
        }
        for task in self.tasks.values():
            found[task.job]["restarts"] += task.restarts
        return found

    def addresses(self) -> dict[str, list[str]]:
        """By job, the address of each task; empty while it has no place."""
        found: dict[str, list[str]] = {}
        for task in self.tasks.values():
            found.setdefault(task.job, []).append(task.address)
        return found


def status_now(run: RunDirectory) -> RunStatus:
    """The present status.

    In a run that is over, tasks without a recorded end are lost, unless they wait.
    """
    status = Reader().read(run.entries())
    return settled(status, run.outcome) if is_final(run) else status


def settled(status: RunStatus, outcome: Json | None) -> RunStatus:
    """Nothing more will come: tasks without a recorded end stay without one."""
    word = ENDED if outcome and outcome.get("exit_code") == 0 else LOST
    for task in status.tasks.values():
        task.state = word if task.state in LIVING else task.state
    return status


def phase_of(run: RunDirectory, phase: str) -> str:
    """The phase of a run whose record stops in *phase*."""
    if (outcome := run.outcome) is not None:
        ended_badly = "stopped" if outcome.get("was_stopped") else "failed"
        return "succeeded" if outcome.get("exit_code") == 0 else ended_badly
    is_alive = run.launcher.is_alive
    return phase if is_alive else LOST if is_alive is False else ELSEWHERE


def state_of(run: RunDirectory) -> str:
    """Running until it has ended, in whatever phase; unknown if nobody can tell."""
    phase = phase_of(run, "running")
    return "unknown" if phase in (LOST, ELSEWHERE) else phase


class Reader:
    """Follows the events of a run; ``status`` is its state.

    ``history`` has the states of each task, and since when it was in each.
    """

    def __init__(self) -> None:
        self.status = RunStatus()
        self.history: dict[str, list[tuple[float, str]]] = {}
        self._began = 0.0
        self._names: dict[str, str] = {}  # of tasks by the ids of their attempts
        self._attempts: dict[str, int] = {}  # the last one of each task
        self._no_restarts: Counter[str] = Counter()  # attempts by task that an update made
        self._wall = 0.0  # when the present entry was written, if it says so
        self._rolling_to: tuple[Job, ...] = ()
        self._run_id = ""
        self._board_stays = False

    def read(self, entries: Iterable[Json]) -> RunStatus:
        for entry in entries:
            self._wall = float(entry.get("wall") or 0.0)
            for kind in ("beginning", "event", "told"):
                if kind in entry:
                    with suppress(
                        ValueError, TypeError, AttributeError, LookupError
                    ):  # of another version
                        self.take(from_json(entry[kind]), float(entry["at"]))
        self._look_at_tensorboard()
        return self.status

    def _look_at_tensorboard(self) -> None:
        """It keeps no run alive whose other tasks have ended, unless its user wants it to."""
        status = self.status
        if status.phase != "running" or not status.is_left_to_tensorboard:
            return
        if not self._board_stays:
            status.phase = "stopping"
            status.why = "all other tasks have ended"
        elif boards := status.tensorboards():
            status.stays_at = ", ".join(boards)
            others = "all other tasks have ended"
            status.why = f"{others}; TensorBoard stays at {status.stays_at} until tfrun stop"

    def take(self, event: Any, now: float) -> None:
        match event:
            case Beginning():
                self._begin(event)
            case BeginGeneration():
                self._begin_generation(event, now - self._began)
            case BeginRolling():
                self._begin_rolling(event, now - self._began)
            case EndRolling(_, problem):
                self._end_rolling(problem)
            case happened.TasksPlaced(places):
                for place in places:
                    self._placed(place, now - self._began)
            case happened.TasksLeftOut(task_ids):
                for task_id in task_ids:
                    self._left_out(self._name(task_id)[0])
            case happened.Waiting(_, reason) | happened.EngineTrouble(reason):
                self.status.why = reason
            case happened.TaskRegistered(task_id, address, _):
                task = self._task(task_id)
                task.address = address
                task.shown_at = event.shown_at or address
            case happened.TaskReady(task_id):
                self._ready(self._task(task_id), now - self._began)
            case happened.TaskHeld(task_id, reason):
                self._held(self._task(task_id), reason, now - self._began)
            case happened.TaskExited(task_id, code, reason, _, was_stopped):
                self._ended(self._task(task_id), code, reason, was_stopped, now - self._began)
            case happened.TaskEnded(task_id, code, reason):
                self._ended(self._task(task_id), code, reason, event.was_killed, now - self._began)
            case happened.StopRequested(reason, _):
                self.status.phase = "stopping"
                self.status.why = reason

    def _begin(self, beginning: Beginning) -> None:
        self._began = beginning.at
        self._run_id = beginning.run_id
        self._board_stays = beginning.rules.tensorboard_stays
        self._take_jobs(beginning.jobs)
        self._attempts = dict.fromkeys(self.status.tasks, 1)
        self.status.generations = [Generation(0, 0.0, "the run began", _shape(beginning.jobs))]
        if local := beginning.rules.local:
            task, task_id, address = local
            self._names[task_id] = task.name
            self.status.tasks[task.name].address = address

    def _take_jobs(self, jobs: Iterable[Job]) -> None:
        """Take over these jobs: their tasks have yet to be placed."""
        old = self.status.tasks
        tasks = [task for job in jobs for task in job.tasks]
        self.status.tasks = {
            task.name: TaskStatus(task.name, task.job.name, task.type) for task in tasks
        }
        for name in old.keys() & self.status.tasks.keys():
            self.status.tasks[name].restarts = old[name].restarts

    def _begin_generation(self, begun: BeginGeneration, at: float) -> None:
        is_so = begun.jobs == self._rolling_to  # all tasks are started as the update says
        self._end_rolling("" if is_so else f"generation {begun.number} began")
        shape = _shape(begun.jobs)
        self.status.generations.append(Generation(begun.number, at, begun.why, shape, self._wall))
        self._take_jobs(begun.jobs)
        again = self._attempts.keys() & self.status.tasks.keys()
        self._no_restarts.update(() if begun.is_restart else again)
        self._attempts |= {name: self._attempts.get(name, 0) + 1 for name in self.status.tasks}
        for task in self.status.tasks.values():
            self._enter(task, "waiting", at)
        self.status.phase = "starting"
        self.status.why = begun.why

    def _begin_rolling(self, begun: BeginRolling, at: float) -> None:
        self._end_rolling("undone before it was complete")
        self._rolling_to = begun.jobs
        self.status.generations[-1].updates.append(RollingUpdate(at, begun.why, begun.tasks))

    def _is_updated(self, name: str) -> bool:
        """Is a rolling update under way that changes this task?"""
        return any(one.is_going_on and name in one.tasks for one in self.status.updates[-1:])

    def _end_rolling(self, problem: str) -> None:
        """End the last rolling update, if it is under way."""
        for one in self.status.updates[-1:]:
            if one.is_going_on:
                one.is_going_on = False
                one.problem = problem

    def _left_out(self, name: str) -> None:
        """The run begins without this task."""
        task = self.status.tasks.pop(name, None)
        if task is not None:
            self.status.generations[-1].shape[task.job] -= 1

    def _task(self, task_id: str) -> TaskStatus:
        """Reports of an unknown task, or of an earlier attempt, are dropped."""
        name, attempt = self._name(task_id)
        task = self.status.tasks.get(name)
        return task if task and attempt == self._attempts[name] else TaskStatus("", "")

    def _name(self, task_id: str) -> tuple[str, int]:
        """The name of a task and the number of its attempt."""
        if task_id in self._names:
            return self._names[task_id], 1
        job, index, attempt = task_id.removeprefix(f"{self._run_id}-").rsplit("-", 2)
        return f"{job}:{index}", int(attempt)

    def _enter(self, task: TaskStatus, state: str, at: float) -> None:
        task.state = state
        if task.name:
            self.history.setdefault(task.name, []).append((at, state))

    def _placed(self, place: happened.Placed, at: float) -> None:
        name, attempt = self._name(place.task_id)
        task = self.status.tasks[name]
        if self.status.is_left_to_tensorboard:  # it was not the end after all
            self.status.phase = "running"
            self.status.why = ""
            self.status.stays_at = ""
        self._enter(task, "starting", at)
        task.node = place.hostname
        task.code = None
        task.reason = ""
        task.began = task.ended = None
        self._no_restarts[name] += attempt > self._attempts[name] and self._is_updated(name)
        task.restarts = attempt - 1 - self._no_restarts[name]
        self._attempts[name] = attempt

    def _ready(self, task: TaskStatus, at: float) -> None:
        self._enter(task, "running", at)
        task.began = at
        if self.status.has_begun:
            self.status.phase = "running"
            self.status.why = ""

    def _held(self, task: TaskStatus, reason: str, at: float) -> None:
        self._enter(task, HELD, at)
        task.reason = reason
        self.status.why = self._why_held()

    def _why_held(self) -> str:
        """What to do about held tasks; empty if there are none."""
        held = [task.name for task in self.status.tasks.values() if task.state == HELD]
        are = agreeing(len(held), "is", "are")
        return f"{join_names(held)} {are} held until tfrun continue" if held else ""

    def _ended(
        self, task: TaskStatus, code: int, reason: str, was_stopped: bool, at: float
    ) -> None:
        if task.ended is not None:
            return  # the first report is the best
        was_held = task.state == HELD
        self._enter(task, "stopped" if was_stopped else "failed" if code else "succeeded", at)
        task.code = code
        task.reason = reason
        task.ended = at
        if was_held and self.status.phase == "running":
            self.status.why = self._why_held()


def _shape(jobs: Iterable[Job]) -> dict[str, int]:
    return {job.name: job.size for job in jobs if job.size}
