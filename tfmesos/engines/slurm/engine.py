"""Where the tasks of a run go on Slurm: all into one batch job, which starts when all fit.

Slurm is asked about a job only while the job waits, or while one of its tasks is not connected to
the launcher: the links report everything else, and sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import inf

from ...core import events as tell
from ...core.actions import Anticipate, Kill, LookForRoom, Place, Request, Say, StopPlacing, Wanted
from ...core.events import Event, Ticked
from ...errors import CANNOT_REACH_LAUNCHER, EVICTED
from ...shared.exit_status import KILLED
from . import actions as do
from . import events as happened
from . import reports
from .actions import SlurmAction, Step, step_name
from .allocation import (
    Allocation,
    Phase,
    Sitting,
    cancelled,
    guess,
    let_go,
    placed,
    released,
    seat_for,
    steps_of,
)
from .api.batch_jobs import Job
from .api.job_states import (
    BACK_IN_QUEUE,
    COMPLETING,
    GONE,
    RUNNING,
    SUSPENDED,
    WAITING,
    JobEnd,
    end_of,
    never,
    why_waiting,
)
from .events import SlurmEvent
from .given_allocation import GivenAllocation
from .looks import Looks
from .spare import Spare
from .time_limits import TimeLimits

Output = SlurmAction | Event | Say


class SlurmEngine:
    hears: tuple[type[Event], ...] = (
        tell.TaskRegistered,
        tell.TaskExited,
        tell.RunnerOutOfTouch,
        tell.RunnerBack,
        tell.RunnerLost,
    )

    def __init__(
        self,
        jitter: Callable[[], float] = lambda: 0.5,
        allocation: str = "",
        notice_before: float = 15.0,
        notice_grace: float | None = None,
    ) -> None:
        """*allocation* is the job whose nodes to use; without one, jobs are submitted.

        Tasks are stopped *notice_before* seconds before the time limit of their job, and have
        *notice_grace* of them to end, if it is given.
        """
        self._given = GivenAllocation(allocation)
        self._is_found = False
        self._allocations: list[Allocation] = []
        self._submitted = 0
        self._wanted: dict[str, Wanted] = {}  # those of the last request
        self._hold = 0.0  # seconds for which places for optional tasks are waited for
        self._looks = Looks(self._allocations)
        self._spare = Spare()
        self._limits = TimeLimits(self._allocations, notice_before, notice_grace)

    @property
    def deadline(self) -> float | None:
        times = [self._looks.deadline, self._limits.deadline]
        times += [one.fewer_at for one in self._allocations]
        return min((time for time in times if time is not None), default=None)

    @property
    def job_ids(self) -> tuple[str, ...]:
        """The ids of the jobs in which tasks are, or will be."""
        return tuple(one.job_id for one in self._allocations if one.job_id)

    def is_wanted(self, key: str) -> bool:
        """Is the job that was to be submitted under this key still needed?"""
        return self._spare.has(key=key) or any(one.key == key for one in self._allocations)

    def awaits(self, step: str) -> bool:
        """Does a task of this step still have to register?"""
        left = (sitting for one in self._allocations for sitting in one.of_step(step))
        return any(not sitting.has_registered for sitting in left)

    def is_over(self, job_id: str) -> bool:
        """Has every task of this job ended, as far as we know, so that its script can end, too?

        A job that is not ours, or no longer, may be about to start its tasks.
        """
        found = [one for one in self._allocations if one.job_id == job_id]
        is_busy = any(one.sitting or one.is_retrying or one.is_suspended for one in found)
        return bool(found) and not is_busy

    def handle(self, event: SlurmEvent | Request | Event | Ticked, now: float) -> Sequence[Output]:
        match event:
            case happened.SlurmFound():
                return self._found(event)
            case happened.SlurmSought(text):
                return [tell.EngineTrouble(text)]
            case happened.SlurmGaveUp(error):
                return [tell.EngineGaveUp(error)]
            case Place():
                return self._place(event, now) if self._is_found else []
            case Anticipate(place):
                return self._anticipate(place, now)
            case StopPlacing():
                return self._stop_placing()
            case Kill(task_id):
                return self._kill(task_id)
            case LookForRoom(tasks):
                return [] if self._given else [do.TryMore(tasks)]
            case happened.RoomTried(has_room):
                seated = {task for one in self._allocations for task in one.tasks}
                return [tell.RoomSeen(len(seated) + has_room)]
            case happened.Submitted(key, job_id):
                return self._was_submitted(key, job_id, now)
            case happened.NotSubmitted(key, reason):
                return self._refused(key, reason, now)
            case happened.JobsSeen():
                return self._seen(event, now)
            case happened.NodesSeen(drained):
                return self._nodes_seen(drained, now)
            case happened.JobsUnseen(text):
                return self._unseen(text, now)
            case happened.StepEnded():
                return self._step_ended(event, now)
            case Ticked():
                due = self._looks.due(now)
                return [*self._limits.due(now), *self._ask_for_fewer(now), *due]
            case tell.Event():
                return self._heard(event, now)
        return []

    def _found(self, event: happened.SlurmFound) -> list[Output]:
        self._is_found = True
        if self._given and not self._allocations:
            self._allocations.append(self._given.found(event.components))
        return [tell.EngineReady()]

    # Places

    def _place(self, place: Place, now: float) -> list[Output]:
        self._wanted = {wanted.task_id: wanted for wanted in place.tasks}
        self._hold = place.hold
        todo = [*self._drop_unwanted({*self._wanted}), *self._use_spare(place, now)]
        sitting = {task_id for one in self._allocations for task_id in one.sitting}
        fresh = [wanted for wanted in place.tasks if wanted.task_id not in sitting]
        avoid = _avoided(place, now)
        if not fresh:
            return [*todo, *self._release_empty()]
        if self._given:
            (given,) = self._allocations
            told, steps = self._given.place(given, fresh)
            return [*todo, *told, *(out for step in steps for out in self._start(given, step))]
        rest = []
        for wanted in fresh:
            step = self._seat_in_running(wanted, avoid)
            todo += step
            rest += [] if step else [wanted]
        return [*todo, *self._submit(rest, avoid, now), *self._release_empty()]

    def _seat_in_running(self, wanted: Wanted, avoid: Sequence[str]) -> list[Output]:
        """Gives a task its own step in a running job with room for it; nothing if there is none."""
        for one in self._allocations:
            is_usable = one.phase is Phase.RUNNING and not (one.is_leaving or one.is_suspended)
            group = one.group_for(wanted.task) if is_usable else None
            if group is None or one.room(group) < 1:
                continue
            nodes = [node for node in one.nodes.get(group, ()) if node not in avoid]
            previous = wanted.previous_place.node if wanted.previous_place else ""
            if nodes:
                node = previous if previous in nodes else (nodes[0] if avoid else "")
                return self._start(one, Step((seat_for(wanted),), group, node))
        return []

    def _start(self, one: Allocation, step: Step) -> list[Output]:
        one.seat(step)
        nodes = one.nodes.get(step.group, ())
        told = placed(guess(one.of_step(step_name(step)), nodes))
        return [told, do.StartStep(one.job_id, step, one.groups)]

    def _submit(self, wanted: Sequence[Wanted], avoid: Sequence[str], now: float) -> list[Output]:
        if not wanted:
            return []
        one = self._new_job(wanted, avoid)
        self._await(one, now)
        return [tell.Waiting(0, "the job is being submitted"), do.Submit(one.key, one.steps)]

    def _new_job(self, wanted: Sequence[Wanted], avoid: Sequence[str]) -> Allocation:
        self._submitted += 1
        one = Allocation(str(self._submitted), steps_of(map(seat_for, wanted), avoid))
        for step in one.steps:
            one.seat(step)
        return one

    def _await(self, one: Allocation, now: float) -> None:
        """From now on its tasks wait for this job."""
        self._allocations.append(one)
        if any(self._wanted[task_id].is_optional for task_id in one.sitting):
            one.fewer_at = now + self._hold

    def _ask_for_fewer(self, now: float) -> list[Output]:
        """Slurm starts all of a job or nothing, so a job that waits too long is made smaller."""
        todo: list[Output] = []
        for one in list(self._allocations):
            if one.fewer_at is not None and now >= one.fewer_at:
                one.fewer_at = None
                if one.phase < Phase.RUNNING:
                    todo += self._shrink(one, "Slurm has not started a job for all tasks", now)
        return todo

    def _shrink(self, one: Allocation, reason: str, now: float) -> list[Output]:
        """Leaves out a quarter of the optional tasks; nothing if there are none."""
        asked = [self._wanted[task_id] for task_id in one.sitting if task_id in self._wanted]
        optional = [wanted for wanted in asked if wanted.is_optional]
        if not optional:
            return []
        left = optional[-max(1, len(optional) // 4) :]
        kept = [wanted for wanted in asked if wanted not in left]
        avoid = one.steps[0].avoid
        for wanted in left:
            del self._wanted[wanted.task_id]
        told = tell.TasksLeftOut(tuple(wanted.task_id for wanted in left), reason)
        dropped = self._drop(one, "fewer tasks are wanted now")
        return [*dropped, told, *self._submit(kept, avoid, now)]

    def _refused(self, key: str, reason: str, now: float) -> list[Output]:
        """A job that is too large may fit with fewer tasks."""
        if self._spare.has(key=key):
            self._spare.take()
            return []  # the next generation will ask again
        found = [one for one in self._allocations if one.key == key]
        for one in found:
            if fewer := self._shrink(one, reason, now):
                return fewer
            self._allocations.remove(one)
            if one.steps[0].avoid:  # a node is avoided only as long as others will do
                return self._submit([self._wanted[name] for name in one.sitting], (), now)
        return [tell.Impossible(reason)]

    def _drop_unwanted(self, wanted: set[str]) -> list[Output]:
        """A pending job with a task that is no longer wanted has to be submitted again."""
        todo: list[Output] = []
        for one in [one for one in self._allocations if one.phase < Phase.RUNNING]:
            if not wanted.issuperset(one.sitting):
                todo += self._drop(one, "its tasks are being placed again")
        return todo

    def _stop_placing(self) -> list[Output]:
        todo: list[Output] = []
        for one in [one for one in self._allocations if one.phase < Phase.RUNNING]:
            todo += self._drop(one, "the run needs no more places")
        return [*todo, *cancelled(self._spare.take(), "the run needs no more places")]

    def _drop(self, one: Allocation, reason: str) -> list[Output]:
        self._allocations.remove(one)
        return [*cancelled(one, reason)]

    def _release_empty(self) -> list[Output]:
        empty = [one for one in self._allocations if one.phase is Phase.RUNNING]
        empty = [one for one in empty if not one.sitting and not one.is_given]
        for one in empty:
            self._allocations.remove(one)
        return [released(one) for one in empty]

    def _was_submitted(self, key: str, job_id: str, now: float) -> list[Output]:
        for one in [*self._allocations, *self._spare.jobs]:
            if one.key == key:
                one.job_id = job_id
                one.phase = Phase.PENDING
                if self._spare.has(key=key):
                    words = f"Slurm job {job_id} is queued for the next generation"
                    return [Say(words, "notice")]
                self._looks.later(now)
                return [tell.Waiting(0, f"Slurm job {job_id} was submitted"), *let_go(one)]
        return [do.CancelJob(job_id, "it was no longer needed when it was submitted")]

    # The job of the next generation

    def _anticipate(self, place: Place, now: float) -> list[Output]:
        """Queue the next job if this one must be left anyway, or has a drained node."""
        if self._given:
            return []
        if not any(one.is_leaving for one in self._allocations):
            self._spare.place = place
            nodes = {node for one in self._allocations for node in one.all_nodes}
            return [do.LookAtNodes(tuple(sorted(nodes)))] if nodes else []
        dropped = cancelled(self._spare.take(), "the next generation has changed")
        one = self._new_job(place.tasks, _avoided(place, now))
        self._spare.keep(one, place)
        return [*dropped, do.Submit(one.key, one.steps, is_held=True)]

    def _nodes_seen(self, drained: Collection[str], now: float) -> list[Output]:
        place = self._spare.place
        leaving = [one for one in self._allocations if not one.all_nodes.isdisjoint(drained)]
        if place is None or not leaving:  # None: the next generation has begun
            return []
        for one in leaving:
            one.is_leaving = True
        return self._anticipate(place, now)

    def _use_spare(self, place: Place, now: float) -> list[Output]:
        is_right = self._spare.fits(place)
        one = self._spare.take()
        if one is None or not is_right:
            return [*cancelled(one, "other tasks are being placed")]
        self._await(one, now)
        self._looks.later(now)
        return [tell.Waiting(0, "the job is queued already"), *let_go(one)]

    # Looking

    def _unseen(self, text: str, now: float) -> list[Output]:
        self._looks.answered()
        self._looks.later(now)
        is_waiting = any(one.phase is Phase.PENDING for one in self._allocations)
        return [tell.Waiting(0, f"{text}; asking again")] if is_waiting else []

    def _seen(self, seen: happened.JobsSeen, now: float) -> list[Output]:
        self._looks.answered()
        todo: list[Output] = []
        for one in list(self._allocations):
            jobs = [job for job in seen.jobs if job.job_id == one.job_id]
            if jobs:
                todo += self._take(one, jobs, now)
            elif one.job_id in seen.gone and one.sitting and one.is_quiet:
                one.limit_at = inf  # a controller that was killed forgets young jobs; they go on
            elif one.job_id in seen.gone:
                todo += self._end(one, GONE)
        self._looks.later(now)
        return todo

    def _take(self, one: Allocation, jobs: Sequence[Job], now: float) -> list[Output]:
        """Take in what squeue says; a heterogeneous job has a line for each component."""
        todo: list[Output] = []
        states = {job.state for job in jobs}
        if states <= {*RUNNING}:
            todo += self._runs(one, jobs, now)
        for job in jobs:
            for name, code, text in job.ended_steps:
                todo += self._step_ended(happened.StepEnded(job.job_id, name, code, text), now)
        if states <= {*RUNNING}:
            return todo
        if states & {*WAITING}:
            return [*todo, *self._waits(one, [job for job in jobs if job.state in WAITING], now)]
        if end := next(filter(None, map(end_of, jobs)), None):
            return [*todo, *self._end(one, end)]
        if COMPLETING in states:
            return todo  # the reason follows
        state = sorted(states)[0]
        return [*todo, *self._end(one, JobEnd(f"ended with its Slurm job ({state})", False, 1))]

    def _runs(self, one: Allocation, jobs: Sequence[Job], now: float) -> list[Output]:
        one.phase = Phase.RUNNING
        unplaced: list[Sitting] = []
        for job in jobs:
            unplaced += one.place_all(job.group, job.nodes)
        self._limits.read(one, jobs, now)
        was_suspended = one.is_suspended
        one.is_suspended = any(job.state in SUSPENDED for job in jobs)
        words = f"Slurm job {one.job_id} is suspended"
        said = [Say(words, "warning")] if one.is_suspended and not was_suspended else []
        return [*said, *([placed(unplaced)] if unplaced else [])]

    def _waits(self, one: Allocation, jobs: Sequence[Job], now: float) -> list[Output]:
        if one.phase is Phase.RUNNING:
            # What is restarted in it has secrets that are used up.
            return [
                do.CancelJob(one.job_id, "it is back in the queue"),
                *self._end(one, BACK_IN_QUEUE),
            ]
        for job in jobs:
            if reason := never(job):
                words = f"Slurm job {job.job_id}: {reason}"
                return self._shrink(one, words, now) or [tell.Impossible(words)]
        told = next((job for job in jobs if job.reason != "None"), jobs[0])
        return [tell.Waiting(0, why_waiting(told))]

    # Ends

    def _end(self, one: Allocation, end: JobEnd) -> list[Output]:
        """The end of a job, and of all tasks in it."""
        self._allocations.remove(one)
        return [*reports.job_ended(one, end)]

    def _step_ended(self, ended: happened.StepEnded, now: float) -> list[Output]:
        found = [one for one in self._allocations if one.job_id == ended.job_id]
        for one in found:
            one.is_retrying |= ended.code == CANNOT_REACH_LAUNCHER
        todo = [told for one in found for told in reports.step_ended(one, ended)]
        self._looks.later(now)
        return [*todo]

    def _kill(self, task_id: str) -> list[Output]:
        """Slurm can end a step, but not one of its tasks; a runner ends when nobody answers."""
        for one in self._allocations:
            if sitting := one.sitting.pop(task_id, None):
                killed = tell.TaskEnded(task_id, KILLED, "was killed", was_killed=True)
                if one.of_step(sitting.step):
                    return [killed]
                return [do.CancelStep(one.job_id, sitting.step), killed]
        return []

    # What runners report

    def _heard(self, event: Event, now: float) -> list[Output]:
        task_id = getattr(event, "task_id", "")
        found = [one for one in self._allocations if task_id in one.sitting]
        if not found:
            return []
        (one,) = found
        sitting = one.sitting[task_id]
        match event:
            case tell.TaskRegistered(node=node):
                told = reports.registered(one, sitting, node)
                self._looks.later(now)
                return [*told]
            case tell.TaskExited(reason=reason, node=node) if not reason.startswith(EVICTED):
                return [*reports.exited(one, sitting, node)]
            case tell.RunnerBack():
                sitting.is_heard = True
            case _:  # it was ended by its node, or is out of touch: Slurm may know why
                sitting.is_heard = False
                self._looks.later(now, 0.0)
        return []


def _avoided(place: Place, now: float) -> tuple[str, ...]:
    return tuple(sorted(node for node, until in place.avoid.items() if until > now))
