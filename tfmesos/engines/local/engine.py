"""Places the tasks of a run on this machine, each with its own GPUs.

CPUs and memory are not counted: a run that asks for more than there is was warned, and shares. GPUs
are: the run takes as many as its tasks need together, all or none, and keeps them until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...config.constraints import Constraint, Node
from ...config.job import Task
from ...core import events as tell
from ...core.actions import Kill, LookForRoom, Place, Request, Say, StopPlacing, Wanted
from ...core.events import Event, Ticked
from ...text import count, join_names
from ..elastic import most, rest, room_for
from . import actions as do
from . import events as happened
from .actions import LocalAction, Seat
from .events import LocalEvent

LOOK_AGAIN = 1.0  # seconds between two attempts to get GPUs that others hold

Output = LocalAction | Event | Say


class LocalEngine:
    hears: tuple[type[Event], ...] = ()

    def __init__(self, jitter: Callable[[], float] = lambda: 0.5) -> None:
        self._jitter = jitter
        self._hostname = ""
        self._wanted: tuple[Wanted, ...] = ()
        self._has_placed = False
        self._gpus: tuple[str, ...] = ()  # that the run has
        self._in_use: dict[str, tuple[str, ...]] = {}  # of these, by task id, until it is gone
        self._known_gpus = 0  # that this machine has, if somebody has counted them
        self._sought: tuple[Task, ...] = ()  # those for which there may be room
        self._is_asking = False
        self._ask_at: float | None = None
        self._fewer_from = 0.0  # when optional tasks may be left out

    @property
    def deadline(self) -> float | None:
        return self._ask_at

    def handle(self, event: LocalEvent | Request | Ticked, now: float) -> Sequence[Output]:
        match event:
            case happened.MachineFound(hostname, gpu_ids):
                self._hostname = hostname
                self._known_gpus = len(gpu_ids)
                return [tell.EngineReady()]
            case Place(tasks):
                self._wanted = tasks
                self._fewer_from = now + event.hold
                return self._place()
            case StopPlacing():
                self._wanted = ()
                self._ask_at = None
            case LookForRoom(tasks):
                return self._look_for_room(tasks)
            case Kill(task_id):
                return [do.EndTask(task_id)]
            case happened.GpusTaken(gpu_ids):
                self._is_asking = False
                self._gpus = (*self._gpus, *gpu_ids)
                return [*self._room(0), *self._place()]
            case happened.GpusHeld():
                return [*self._room(event.free), *self._wait(event, now)]
            case happened.TaskStarted(task_id):
                return [tell.TaskSeen(task_id)]
            case happened.TaskGone():
                return self._gone(event)
            case Ticked() if self._ask_at is not None and now >= self._ask_at:
                self._ask_at = None
                return self._place()
        return []

    def _place(self) -> list[Output]:
        if not self._wanted or not self._hostname:
            return []
        tasks = [wanted.task for wanted in self._wanted]
        if not self._has_placed and (reason := obstacle(tasks, self._hostname)):
            return [tell.Impossible(reason)]
        left = self._leave_out(self._known_gpus, "no more GPUs") if self._known_gpus else []
        missing = self._needed - len(self._free_gpus)
        return [*left, *(self._ask_for_gpus() if missing > 0 else self._start())]

    def _leave_out(self, gpus: int, reason: str) -> list[Output]:
        """Leave out optional tasks for which there are not enough GPUs."""
        if self._needed <= gpus:
            return []
        kept = most(self._wanted, lambda some: _gpus_of(one.task for one in some) <= gpus)
        if kept is None:
            return []
        left = tell.TasksLeftOut(rest(self._wanted, kept), reason)
        self._wanted = kept
        return [left]

    # GPUs

    @property
    def _needed(self) -> int:
        return _gpus_of(wanted.task for wanted in self._wanted)

    @property
    def _free_gpus(self) -> list[str]:
        used = {gpu for gpus in self._in_use.values() for gpu in gpus}
        return [gpu for gpu in self._gpus if gpu not in used]

    def _ask_for_gpus(self) -> list[Output]:
        """Unless our own tasks that are about to end have them."""
        missing = self._needed - len(self._gpus)
        if missing <= 0:
            return [tell.Waiting(0, "tasks that have not ended yet hold the GPUs of this run")]
        if self._is_asking:
            return []
        self._is_asking = True
        return [do.TakeGpus(missing)]

    def _look_for_room(self, tasks: tuple[Task, ...]) -> list[Output]:
        """The run keeps the GPUs that it takes for this, like all its others."""
        missing = _gpus_of(tasks) - len(self._gpus)
        self._sought = tasks
        if missing <= 0 or self._is_asking:
            return self._room(0)
        self._is_asking = True
        return [do.TakeGpus(missing)]

    def _room(self, free: int) -> list[Output]:
        """How many GPUs are free besides those of the run."""
        there = len(self._gpus) + free
        sought = self._sought
        self._sought = ()
        fits = room_for(sought, lambda some: _gpus_of(some) <= there)
        return [tell.RoomSeen(fits)] if sought else []

    def _wait(self, held: happened.GpusHeld, now: float) -> list[Output]:
        self._is_asking = False
        if not self._wanted:
            return []
        self._ask_at = now + LOOK_AGAIN * (0.5 + self._jitter())
        reason = self._why_waiting(held)
        there = len(self._gpus) + held.free
        left = self._leave_out(there, reason) if now >= self._fewer_from else []
        return [*left, *self._place()] if left else [tell.Waiting(0, reason)]

    def _why_waiting(self, held: happened.GpusHeld) -> str:
        with_gpus = [wanted.task.name for wanted in self._wanted if wanted.task.job.gpus]
        needs = f"{join_names(with_gpus)} {_need(with_gpus)} {count(self._needed, 'GPU')}"
        reason = f"{needs}, {held.free} of this machine {_is(held.free)} free"
        return reason + (f"; held by {join_names(held.holders)}" if held.holders else "")

    # Tasks

    def _start(self) -> list[Output]:
        free = self._free_gpus
        seats = []
        for wanted in self._wanted:
            number = wanted.task.job.gpus
            gpus, free = tuple(free[:number]), free[number:]
            if gpus:
                self._in_use[wanted.task_id] = gpus
            port = wanted.previous_port
            seats.append(Seat(wanted.task_id, wanted.task, port, gpus))
        self._wanted = ()
        self._ask_at = None
        self._has_placed = True
        here = self._hostname
        placed = tuple(tell.Placed(seat.task_id, here, here) for seat in seats)
        return [tell.TasksPlaced(placed), do.StartTasks(here, tuple(seats))]

    def _gone(self, gone: happened.TaskGone) -> list[Output]:
        self._in_use.pop(gone.task_id, None)
        ended = tell.TaskEnded(
            gone.task_id,
            gone.code,
            gone.reason,
            is_lost=gone.is_lost,
            was_killed=gone.was_killed,
        )
        return [ended, *self._place()]


def _gpus_of(tasks: Iterable[Task]) -> int:
    return sum(task.job.gpus for task in tasks)


def obstacle(tasks: Sequence[Task], hostname: str) -> str:
    """The constraint for which these tasks cannot all be on this machine; empty if they can."""
    here = Node(hostname)
    for job in {task.job.name: task.job for task in tasks}.values():
        alike = [task for task in tasks if task.job.name == job.name]
        reasons = (_barrier(constraint, alike, here) for constraint in job.constraints)
        if reason := next(filter(None, reasons), ""):
            return reason
    return ""


def _barrier(constraint: Constraint, tasks: Sequence[Task], here: Node) -> str:
    """Why these tasks of a job cannot all be *here*; empty if they can."""
    if not constraint.admits(here):
        return f"{tasks[0].name}: this machine ({here.hostname}) does not meet {constraint}"
    limit = constraint.limit(len(tasks))
    if limit is None or limit >= len(tasks):
        return ""
    used = f"{constraint.noun}s used: {here.value(constraint.field)}"
    return f"{tasks[limit].name}: no further {constraint.noun} for {constraint}; {used}"


def _need(names: Sequence[str]) -> str:
    return "needs" if len(names) == 1 else "need"


def _is(number: int) -> str:
    return "is" if number == 1 else "are"


class LocalStory:
    """What ``-v`` shows about this machine."""

    name = "this machine"

    def launched(self, action: object) -> Mapping[str, str]:
        if not isinstance(action, do.StartTasks):
            return {}
        return {seat.task_id: seat.task.name for seat in action.seats}

    def news(self, event: object) -> str:
        if isinstance(event, happened.GpusTaken):
            return f"this run has {join_names(event.gpu_ids)}"
        return ""

    def ended(self, event: object) -> tuple[str, str] | None:
        return (event.task_id, event.reason) if isinstance(event, happened.TaskGone) else None
