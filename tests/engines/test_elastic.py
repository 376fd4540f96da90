"""As many tasks as there is room for."""

import pytest

from tests.builders import servers, workers
from tests.engines.kubernetes.runs import Run as OnKubernetes
from tests.engines.mesos.offers import an_offer
from tests.engines.mesos.run import Run
from tests.replay import only
from tfmesos.config.constraints import Node
from tfmesos.config.job import Job, Resources
from tfmesos.core import actions as do
from tfmesos.core import events as tell
from tfmesos.core.actions import Place, Wanted
from tfmesos.core.phases import Phase
from tfmesos.engines.elastic import most, rest
from tfmesos.engines.local.engine import LocalEngine
from tfmesos.engines.local.events import GpusHeld, GpusTaken, MachineFound
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.explain import GIVEN_BACK
from tfmesos.engines.mesos.feasibility import KnownAgent


def wanted(job):
    return tuple(Wanted(task.name, task, None, task.is_optional) for task in job.tasks)


@pytest.mark.parametrize("room, found", [(1, None), (2, 2), (3, 3), (6, 6), (7, 7)])
def test_all_that_are_needed_and_as_many_others_as_fit_are_kept(room, found):
    asked = wanted(workers("2:8"))
    kept = most(asked, lambda some: len(some) <= room)
    assert (kept and len(kept)) == found
    if kept:
        assert rest(asked, kept) == tuple(f"worker:{n}" for n in range(found, 8))


# Mesos


def launched(todo):
    return sorted(seat.task.name for one in only(calls.Launch, todo) for _, seat in one.seats)


def test_on_mesos_a_run_begins_with_what_is_offered_when_it_has_waited_long_enough():
    run = Run(workers("2:8", cpus=1.0), elastic_hold=5.0)
    run.subscribe()
    some = [an_offer(f"o{n}", cpus=1.0) for n in range(5)]
    assert launched(run.offer(*some)) == [] and launched(run.wait(4.9)) == []
    run.now += 20
    run.offer(*some)
    todo = run.wait(10)
    assert launched(todo) == [f"worker:{n}" for n in range(5)]
    assert len(list(run.state.members)) == 5


def test_on_mesos_a_run_whose_offers_were_given_back_says_that_it_waits_for_new_ones():
    run = Run(workers("2:8", cpus=1.0), elastic_hold=60.0)
    run.subscribe()
    run.offer(*(an_offer(f"o{n}", cpus=1.0) for n in range(5)))
    run.wait(11)
    engine = run.deciders._engine
    agents = tuple(KnownAgent(Node(f"o{n}"), Resources.of(1.0, 1e6)) for n in range(5))
    (left,) = only(tell.TasksLeftOut, engine.handle(mesos.AgentsCounted(agents, (), ()), run.now))
    assert left.task_ids and engine.deadline is not None
    (said,) = only(tell.Waiting, engine.handle(tell.Ticked(), run.now + 5))
    assert said == tell.Waiting(0, GIVEN_BACK)


def test_on_mesos_all_of_them_begin_at_once_if_there_is_room():
    run = Run(workers("2:8", cpus=1.0), servers(1))
    run.subscribe()
    assert len(launched(run.offer())) == 9


def test_on_mesos_what_can_never_be_placed_is_not_waited_for():
    run = Run(workers("2:8", cpus=1.0), elastic_hold=1000.0)
    run.subscribe()
    agents = tuple(
        KnownAgent(Node(f"n{number}"), Resources.of(1, 4096, 0, 0)) for number in range(5)
    )
    run(mesos.AgentsCounted(agents, (), ()))
    assert len(list(run.state.members)) == 5
    assert len(launched(run.offer(*(an_offer(f"o{n}", cpus=1.0) for n in range(5))))) == 5


def test_on_mesos_a_run_whose_least_number_never_fits_fails_as_others_do():
    run = Run(workers("2:8", cpus=1.0))
    run.subscribe()
    run(mesos.AgentsCounted((KnownAgent(Node("n"), Resources.of(1, 4096, 0, 0)),), (), ()))
    assert run.outcome.exit_code == 75


# Kubernetes


def test_on_kubernetes_pods_without_a_place_are_deleted_when_the_hold_is_over():
    run = OnKubernetes(workers("2:4"), hold=60.0)
    run.scheduled("worker-0", "worker-1", "worker-2")
    run.crowded("worker-3")
    run.wait(61)
    assert run.deleted() == ["worker-3"]
    assert [member.task.index for member in run.state.members] == [0, 1, 2]
    run.running("worker-0", "worker-1", "worker-2")
    run.register("worker:0", "worker:1", "worker:2")
    assert run.state.phase is Phase.RUNNING


def test_on_kubernetes_the_first_tasks_of_the_job_stay_whichever_pods_have_a_place():
    run = OnKubernetes(workers("1:3"), hold=60.0)
    run.crowded("worker-0")
    run.scheduled("worker-1", "worker-2")
    run.wait(61)
    assert run.deleted() == ["worker-2"]
    assert run.state.phase is Phase.STARTING
    run.running("worker-0", "worker-1")
    run.register("worker:0", "worker:1")
    assert run.state.phase is Phase.RUNNING


def test_on_kubernetes_too_few_pods_are_all_given_up_as_ever():
    run = OnKubernetes(workers("3:4"), hold=60.0)
    run.scheduled("worker-0", "worker-1")
    run.crowded("worker-2", "worker-3")
    run.wait(60.5)
    assert sorted(run.deleted()) == [f"worker-{n}" for n in range(4)]


# This machine


def names(outputs):
    (placed,) = only(tell.TasksPlaced, outputs)
    return [place.task_id for place in placed.places]


def test_here_a_run_takes_the_gpus_that_there_are():
    engine = LocalEngine()
    engine.handle(MachineFound("here", ("0", "1", "2")), 0)
    left, asked = engine.handle(Place(wanted(Job("worker", "1:8", gpus=1)), hold=10), 1)
    assert len(left.task_ids) == 5 and asked.number == 3
    assert len(names(engine.handle(GpusTaken(("0", "1", "2")), 2))) == 3


def test_here_a_run_waits_a_while_for_gpus_that_others_hold():
    engine = LocalEngine()
    engine.handle(MachineFound("here", ("0", "1", "2")), 0)
    engine.handle(Place(wanted(Job("worker", "1:3", gpus=1)), hold=10), 1)
    held = GpusHeld(2, ("somebody (0)",))
    assert only(tell.Waiting, engine.handle(held, 5))
    engine.handle(tell.Ticked(), 8)
    (left, asked) = engine.handle(held, 12)
    assert left.task_ids == ("worker:2",) and asked.number == 2
    assert only(do.Say, [left]) == []
