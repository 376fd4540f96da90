"""Fewer tasks than were asked for, and more when there is room."""

from __future__ import annotations

import pytest

from tfmesos.config.job import Job
from tfmesos.core import events as tell
from tfmesos.core.actions import LookForRoom, Place, Wanted
from tfmesos.core.events import Ticked
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.api import answers

from .test_engine import Case, of_type


@pytest.fixture
def case():
    return Case()


def a_range(least=1, most=4):
    tasks = Job("worker", most).tasks
    optional = [i >= least for i in range(most)]
    return tuple(
        Wanted(f"worker:{i}-1", task, is_optional=optional[i]) for i, task in enumerate(tasks)
    )


def test_a_job_that_waits_beyond_the_hold_is_asked_for_with_fewer_tasks(case):
    case(Place(a_range(), hold=10.0))
    case(happened.Submitted("1", "7"))
    case.now = 10.0
    outputs = case(Ticked())
    assert of_type(outputs, do.CancelJob)[0].job_id == "7"
    (left,) = of_type(outputs, tell.TasksLeftOut)
    assert left.task_ids == ("worker:3-1",)
    (submit,) = of_type(outputs, do.Submit)
    assert [len(step.seats) for step in submit.steps] == [3]


def test_of_many_optional_tasks_a_quarter_is_left_out_at_a_time(case):
    case(Place(a_range(most=10), hold=10.0))
    sizes = []
    for key in range(1, 8):
        told = case(happened.NotSubmitted(str(key), "too many"))
        sizes += [sum(len(s.seats) for s in one.steps) for one in of_type(told, do.Submit)]
    assert sizes == [8, 7, 6, 5, 4, 3, 2]


def test_there_is_room_for_more_if_slurm_would_start_one_more_task_at_once(case):
    case.running()
    tasks = Job("worker", "1:3").tasks
    assert case(LookForRoom(tasks)) == [do.TryMore(tasks)]
    for has_room, room in ((True, 3), (False, 2)):
        assert case(happened.RoomTried(has_room)) == [tell.RoomSeen(room)]


def test_the_place_of_a_task_that_has_ended_is_room_like_those_of_the_others(case):
    """The run counts it among its tasks, and it has its place in the next generation."""
    case.running()
    case(tell.TaskExited("worker:1-1", 0, "exited with code 0"))
    assert case(happened.RoomTried(True)) == [tell.RoomSeen(3)]


def test_a_task_that_was_started_again_in_another_job_is_room_for_one(case):
    case.running()
    case(tell.TaskExited("worker:1-1", 1, "exited with code 1"))
    (wanted,) = (one for one in a_range(least=0, most=2) if one.task.index == 1)
    case(Place((wanted.replace(task_id="worker:1-2"),), avoid={"n1": case.now + 1.0}))
    case(happened.Submitted("2", "8"))
    assert case.engine.job_ids == ("7", "8")
    assert case(happened.RoomTried(False)) == [tell.RoomSeen(2)]


def test_a_job_that_is_too_large_is_asked_for_with_fewer_tasks_at_once(case):
    case(Place(a_range(least=1, most=2), hold=10.0))
    outputs = case(happened.NotSubmitted("1", "too many"))
    assert of_type(outputs, tell.TasksLeftOut)[0].task_ids == ("worker:1-1",)
    assert case(happened.NotSubmitted("2", "too many")) == [tell.Impossible("too many")]


def test_when_a_job_would_start_is_read_from_what_sbatch_prints():
    text = "sbatch: Job 4 to start at 1795126450 using 2 processors on nodes n3 in partition main\n"
    assert answers.starts_in(text, 1795126420.0) == 30.0


def test_of_a_job_that_cannot_start_nothing_is_read():
    text = "allocation failure: Requested node configuration is not available\n"
    assert answers.starts_in(text, 0.0) is None
