"""What a run does when the master refuses a call."""

import pytest

from tests.builders import workers
from tests.engines.mesos.histories import launched
from tests.engines.mesos.offers import an_offer
from tests.engines.mesos.run import Run
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos


def test_a_launch_that_the_master_refuses_ends_the_run_at_once_with_its_reason():
    run = Run(workers(2))
    ids = launched(run)
    todo = run(mesos.CallRefused("ACCEPT", "413 Payload Too Large", ids))
    assert only(calls.KillTask, todo) == [], "what was not launched need not be killed"
    (finish,) = only(do.Finish, todo)
    assert "refused ACCEPT (413 Payload Too Large)" in str(finish.outcome.error)
    assert finish.outcome.error.exit_code == 69
    assert finish.outcome.unstopped == ()


def test_a_refused_launch_leaves_the_tasks_of_other_launches_to_be_killed():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    first, second = only(calls.Launch, run.offer(an_offer("o1"), an_offer("o2")))
    todo = run(mesos.CallRefused("ACCEPT", "400", (first.seats[0][0],)))
    assert [kill.task_id for kill in only(calls.KillTask, todo)] == [second.seats[0][0]]
    assert only(do.Finish, todo) == []
    assert only(do.Finish, run.update("worker:1", "TASK_KILLED"))


@pytest.mark.parametrize("call", ["DECLINE", "REVIVE"])
def test_a_call_without_which_no_offer_comes_ends_the_run_when_it_is_refused(call):
    run = Run(workers(2, cpus=4))
    run.subscribe()
    (finish,) = only(do.Finish, run(mesos.CallRefused(call, "401 Unauthorized")))
    assert str(finish.outcome.error) == f"the master refused {call} (401 Unauthorized)"


@pytest.mark.parametrize(
    "call", ["SUPPRESS", "KILL", "ACKNOWLEDGE", "RECONCILE", "DECLINE_INVERSE_OFFERS"]
)
def test_a_call_that_is_made_again_or_not_needed_is_only_told_of_when_it_is_refused(call):
    run = Run(workers(2))
    launched(run)
    todo = run(mesos.CallRefused(call, "501 Not Implemented"))
    (said,) = todo
    assert f"refused {call} (501 Not Implemented)" in said.text and said.level == "warning"


def test_a_launch_that_is_refused_while_the_run_stops_is_not_waited_for():
    run = Run(workers(1))
    ids = launched(run)
    assert only(do.Finish, run(happened.StopRequested("Ctrl-C", 130))) == []
    (finish,) = only(do.Finish, run(mesos.CallRefused("ACCEPT", "401", ids)))
    assert finish.outcome.error.exit_code == 130
