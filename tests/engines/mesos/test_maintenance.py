"""Agents whose operator has scheduled their maintenance."""

import pytest

from tests.builders import workers
from tests.core.restart_policies import ALL
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core.phases import Phase
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.gang import HOLD
from tfmesos.engines.mesos.maintenance import ASK_AGAIN, MARGIN
from tfmesos.engines.mesos.offers import InverseOffer

from .offers import an_offer
from .run import Run

GRACE = 30.0
BEFORE = GRACE + MARGIN


@pytest.fixture
def run():
    """A task on each of two agents."""
    run = Run(workers(2, cpus=4), engine_rules={"stop_grace": GRACE}, restarts=ALL)
    run.subscribe()
    run.offer(an_offer("o1"), an_offer("o2"))
    return run


def started(run):
    run.register()
    run.ready()
    return run


def wanted_back(run, down_in, agent_id="agent-of-o1"):
    return run(mesos.InverseOffersReceived((InverseOffer("i1", agent_id, down_in),)))


def asked_to_end(todo):
    return [stop.task_id for stop in only(do.StopRunner, todo)]


def test_the_maintenance_of_a_node_is_announced_once_and_its_time_awaited(run):
    said, declined = wanted_back(started(run), BEFORE + 600)
    assert names(said.text, "node of worker:0", "maintenance", "in 12 min")
    assert declined == calls.DeclineInverse(("i1",), 600.0)
    assert wanted_back(run, BEFORE + 10) == [calls.DeclineInverse(("i1",), 10.0)]
    assert run.state.phase is Phase.RUNNING


def test_before_the_maintenance_of_one_node_all_tasks_end_in_good_order(run):
    todo = wanted_back(started(run), BEFORE)
    assert sorted(asked_to_end(todo)) == sorted(map(run.id, ("worker:0", "worker:1")))
    assert calls.DeclineInverse(("i1",), ASK_AGAIN) in todo
    run.exit("worker:0", 143)
    (begun,) = only(do.BeginGeneration, run.exit("worker:1", 143))
    assert names(begun.why, "worker:0", "maintenance", "host-of-o1") and not begun.is_restart


def test_a_run_that_starts_nothing_again_ends_for_now_before_the_maintenance():
    run = Run(workers(1)).up()
    wanted_back(run, 0.0)
    run.exit("worker:0", 143)
    assert run.outcome.exit_code == 75 and "maintenance" in str(run.outcome.error)


def test_a_task_that_is_started_again_alone_stays_until_its_node_goes():
    run = Run(workers(2), restarts=ALL.replace(after_start="task")).up()
    assert asked_to_end(wanted_back(run, 0.0)) == []
    assert run.state.phase is Phase.RUNNING


def test_a_notice_that_comes_before_all_tasks_run_is_repeated(run):
    assert asked_to_end(wanted_back(run, BEFORE)) == []
    assert len(asked_to_end(wanted_back(started(run), BEFORE - ASK_AGAIN))) == 2


def test_tasks_that_had_to_go_where_maintenance_is_near_stay_there():
    run = Run(workers(1), engine_rules={"stop_grace": GRACE}, restarts=ALL)
    run.subscribe()
    run.offer(an_offer("o1", down_in=BEFORE - 1))
    run.wait(max(HOLD))
    assert asked_to_end(wanted_back(started(run), BEFORE - 2)) == []
    assert run.state.phase is Phase.RUNNING


def test_a_maintenance_that_is_over_or_of_an_agent_of_others_is_declined_without_a_word(run):
    started(run)
    assert wanted_back(run, None) == [calls.DeclineInverse(("i1",), 3600.0)]
    assert wanted_back(run, 0.0, "another") == [calls.DeclineInverse(("i1",), ASK_AGAIN)]
