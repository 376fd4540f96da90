"""Where tasks go in the job that tfmesos itself runs in."""

from __future__ import annotations

from tfmesos.config.job import Job
from tfmesos.core import events as tell
from tfmesos.core.actions import LookForRoom, Place, PreviousPlace, Wanted
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.engine import SlurmEngine

from .test_engine import Case, of_type, wanted


def test_within_an_allocation_tasks_become_steps_of_it():
    case = Case(Job("worker", 2, cpus=2), allocation="9")
    outputs = case.place()
    assert of_type(outputs, do.Submit) == []
    (start,) = of_type(outputs, do.StartStep)
    assert start.job_id == "9" and len(start.step.seats) == 2


def test_within_an_allocation_a_task_that_is_started_again_has_a_step_on_its_node():
    case = Case(allocation="9")
    case.place()
    case.registered("worker:0-1", "worker:1-1", node="n2")
    case(tell.TaskExited("worker:1-1", 3, "exited with 3"))
    (again,) = wanted(Job("worker", 1), attempt=2, previous_place=PreviousPlace("n2", 1, 60.0))
    (start,) = of_type(case(Place((again,), others_run=True)), do.StartStep)
    assert (start.step.node, start.step.group, start.job_id) == ("n2", 0, "9")


def test_what_does_not_fit_into_the_allocation_is_refused_with_numbers():
    (told,) = Case(Job("worker", 3, cpus=1.5), allocation="9").place()
    assert isinstance(told, tell.Impossible)
    for part in ("6 CPUs", "job 9", "has 4"):
        assert part in told.reason


def test_of_a_range_as_many_become_steps_as_there_is_room_for():
    case = Case(allocation="9")
    tasks = Job("worker", "2:8").tasks
    asked = tuple(Wanted(f"{one.name}-1", one, is_optional=one.is_optional) for one in tasks)
    left, _, start = case(Place(asked))
    assert left.task_ids == tuple(f"worker:{n}-1" for n in range(4, 8)) and "has 4" in left.reason
    assert len(start.step.seats) == 4
    assert case(LookForRoom(tasks)) == []


def within_two_components(*jobs):
    """What is decided for them in an allocation of which only the second component has GPUs."""
    engine = SlurmEngine(allocation="9")
    parts = (happened.Component(("n1",), 2, 0), happened.Component(("n2", "n3"), 4, 2))
    engine.handle(happened.SlurmFound(parts), 0.0)
    return engine.handle(Place(wanted(*jobs)), 0.0)


def test_each_task_becomes_a_step_of_a_component_that_has_what_it_needs():
    told = within_two_components(Job("worker", 2, gpus=1), Job("ps", 3))
    steps = [(one.step.group, len(one.step.seats)) for one in of_type(told, do.StartStep)]
    assert sorted(steps) == [(0, 2), (1, 1), (1, 1), (1, 1)]
    assert {one.groups for one in of_type(told, do.StartStep)} == {2}


def test_gpus_that_an_allocation_does_not_have_are_refused_with_numbers():
    (told,) = within_two_components(Job("worker", 3, gpus=1))
    assert told.reason == (
        "the tasks need 3 CPUs and 3 GPUs; Slurm job 9, in which tfmesos runs, has 6 CPUs and 2 "
        "GPUs in 2 components"
    )
