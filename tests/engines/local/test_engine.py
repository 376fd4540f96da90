"""Where the tasks of a run go on this machine."""

from __future__ import annotations

import pytest

from tfmesos.config.constraints import parse
from tfmesos.config.job import Job
from tfmesos.core import events as tell
from tfmesos.core.actions import Kill, Place, PreviousPlace, StopPlacing, Wanted
from tfmesos.core.events import Ticked
from tfmesos.engines.local import actions as do
from tfmesos.engines.local.actions import Seat
from tfmesos.engines.local.engine import LOOK_AGAIN, LocalEngine
from tfmesos.engines.local.events import GpusHeld, GpusTaken, MachineFound, TaskGone, TaskStarted

HERE = "node-1"


def wanted(*jobs, previous_place=None, attempt=1):
    return tuple(
        Wanted(f"{task.name}-{attempt}", task, previous_place) for job in jobs for task in job.tasks
    )


@pytest.fixture
def engine():
    found = LocalEngine()
    assert found.handle(MachineFound(HERE), 0) == [tell.EngineReady()]
    return found


def started(outputs):
    (seats,) = [action.seats for action in outputs if isinstance(action, do.StartTasks)]
    return {seat.task.name: seat.gpu_ids for seat in seats}


def test_all_tasks_are_placed_and_started_at_once(engine):
    tasks = wanted(Job("ps", 1), Job("worker", 2))
    placed, start = engine.handle(Place(tasks), 1)
    names = ("ps:0-1", "worker:0-1", "worker:1-1")
    assert placed == tell.TasksPlaced(tuple(tell.Placed(name, HERE, HERE) for name in names))
    assert start == do.StartTasks(HERE, tuple(Seat(w.task_id, w.task) for w in tasks))
    assert engine.deadline is None


def test_nothing_is_placed_before_the_machine_is_known():
    engine = LocalEngine()
    assert engine.handle(Place(wanted(Job("worker", 1))), 0) == []


def test_a_task_that_is_started_again_has_its_old_port(engine):
    (job,) = [Job("worker", 1)]
    engine.handle(Place(wanted(job)), 1)
    engine.handle(TaskGone("worker:0-1", 3, "exited with 3"), 2)
    again = wanted(job, previous_place=PreviousPlace(HERE, 4711, 60.0), attempt=2)
    _, start = engine.handle(Place(again, {HERE: 90.0}), 3)
    assert [(seat.task_id, seat.port) for seat in start.seats] == [("worker:0-2", 4711)]


def test_what_happens_to_tasks_is_told_in_the_words_of_the_lifecycle(engine):
    engine.handle(Place(wanted(Job("worker", 1))), 1)
    assert engine.handle(TaskStarted("worker:0-1"), 2) == [tell.TaskSeen("worker:0-1")]
    assert engine.handle(Kill("worker:0-1"), 3) == [do.EndTask("worker:0-1")]
    gone = TaskGone("worker:0-1", 143, "was killed", was_killed=True)
    ended = tell.TaskEnded("worker:0-1", 143, "was killed", was_killed=True)
    assert engine.handle(gone, 4) == [ended]


@pytest.mark.parametrize(
    "constraint, tasks, parts",
    [
        ("hostname:UNIQUE", 2, ("worker:1", "no further host for hostname:UNIQUE", HERE)),
        ("hostname:MAX_PER:2", 3, ("worker:2", "hostname:MAX_PER:2", HERE)),
        ("hostname:GROUP_BY:2", 2, ("worker:1", "hostname:GROUP_BY:2", HERE)),
        ("hostname:IS:other", 1, ("worker:0", HERE, "hostname:IS:other")),
        ("rack:IS:r1", 1, ("worker:0", HERE, "rack:IS:r1")),
    ],
)
def test_a_constraint_that_one_machine_cannot_meet_is_named_at_once(
    engine, constraint, tasks, parts
):
    job = Job("worker", tasks, constraints=[parse(constraint)])
    (impossible,) = engine.handle(Place(wanted(job)), 1)
    assert isinstance(impossible, tell.Impossible)
    assert [part for part in parts if part not in impossible.reason] == []


@pytest.mark.parametrize("constraint", ["hostname:LIKE:node.*", "hostname:CLUSTER", "x:UNLIKE:y"])
def test_a_constraint_that_this_machine_meets_does_not_matter(engine, constraint):
    outputs = engine.handle(Place(wanted(Job("worker", 2, constraints=[parse(constraint)]))), 1)
    assert list(started(outputs)) == ["worker:0", "worker:1"]


def test_gpus_are_taken_for_all_tasks_together_and_each_has_its_own(engine):
    asked = engine.handle(Place(wanted(Job("ps", 1), Job("worker", 2, gpus=2))), 1)
    assert asked == [do.TakeGpus(4)]
    assert started(engine.handle(GpusTaken(("a", "b", "c", "d")), 2)) == {
        "ps:0": (),
        "worker:0": ("a", "b"),
        "worker:1": ("c", "d"),
    }


def test_a_run_without_enough_gpus_waits_says_who_has_them_and_asks_again(engine):
    engine.handle(Place(wanted(Job("worker", 2, gpus=1))), 1)
    (waiting,) = engine.handle(GpusHeld(1, ("process 7 of anna (GPU-1)",)), 2)
    for part in ("worker:0, worker:1", "2 GPUs", "1 of this machine", "process 7 of anna (GPU-1)"):
        assert part in waiting.reason
    assert engine.deadline == 2 + LOOK_AGAIN
    assert engine.handle(Ticked(), engine.deadline) == [do.TakeGpus(2)]
    assert started(engine.handle(GpusTaken(("a", "b")), 4)) == {
        "worker:0": ("a",),
        "worker:1": ("b",),
    }


def test_a_run_that_is_stopped_asks_for_no_more_gpus(engine):
    engine.handle(Place(wanted(Job("worker", 1, gpus=1))), 1)
    engine.handle(GpusHeld(0, ()), 2)
    engine.handle(StopPlacing("the run is over"), 3)
    assert engine.deadline is None and engine.handle(GpusTaken(("a",)), 4) == []


def test_a_task_that_is_started_again_has_gpus_of_its_own_run(engine):
    job = Job("worker", 2, gpus=1)
    engine.handle(Place(wanted(job)), 1)
    engine.handle(GpusTaken(("a", "b")), 2)
    again = wanted(job, attempt=2)[:1]
    (waiting,) = engine.handle(Place(again), 3)
    assert isinstance(waiting, tell.Waiting), "the attempt before still has them"
    outputs = engine.handle(TaskGone("worker:0-1", 3, "exited with 3"), 4)
    assert started(outputs) == {"worker:0": ("a",)}
