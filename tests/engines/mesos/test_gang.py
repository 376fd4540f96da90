"""When the tasks of a run are placed, and what becomes of offers."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core.avoided_nodes import AVOIDED_FOR
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.gang import HOLD, LEFT_ALONE

from .offers import an_offer
from .run import Run


def test_the_whole_gang_is_launched_at_once_and_offers_are_suppressed_then():
    run = Run(workers(2), servers(1))
    run.subscribe()
    todo = run.offer(an_offer("o1", cpus=2), an_offer("o2", cpus=1), an_offer("o3"))
    launched = {a.hostname: [i for i, _ in a.seats] for a in only(calls.Launch, todo)}
    assert launched == {
        "host-of-o1": ["run-worker-0-1", "run-worker-1-1"],
        "host-of-o2": ["run-ps-0-1"],
    }
    assert only(calls.Decline, todo) == [calls.Decline(("o3",), 3600.0, "no task is waiting")]
    assert todo[-1] == calls.Suppress()


def test_nothing_is_launched_while_a_task_has_no_place():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    assert run.offer(an_offer("o1")) == []
    todo = run.offer(an_offer("o2"))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o1",), ("o2",)]


def test_offers_that_do_not_suffice_are_given_back_for_a_short_time():
    run = Run(workers(2, cpus=4), jitter=lambda: 0.25)
    run.subscribe()
    run.offer(an_offer("o1"))
    assert only(calls.Decline, run.wait(6)) == [
        calls.Decline(("o1",), 2.0, "not enough for every task")
    ]


def test_a_node_that_is_soon_taken_down_is_left_to_others_while_there_is_another_one():
    run = Run(workers(1))
    run.subscribe()
    todo = run.offer(an_offer("o1", down_in=600), an_offer("o2", down_in=2 * 3600))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o2",)]
    assert [decline.offer_ids for decline in only(calls.Decline, todo)] == [("o1",)]
    assert only(do.Say, todo) == []


def test_a_node_that_is_soon_taken_down_is_used_if_there_is_nothing_else_and_that_is_said():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    assert run.offer(an_offer("o1", down_in=600), an_offer("o2")) == []
    todo = run.wait(max(HOLD))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o2",), ("o1",)]
    (said,) = [one.text for one in only(do.Say, todo) if one.level == "warning"]
    assert names(said, "host-of-o1", "10 min", "worker:1 goes there")


def test_several_tasks_go_where_nothing_else_is_free():
    run = Run(workers(2, cpus=1))
    run.subscribe()
    run.offer(an_offer("o1", down_in=600))
    (said,) = [s.text for s in only(do.Say, run.wait(max(HOLD))) if s.level == "warning"]
    assert "worker:0, worker:1 go there anyway" in said


def test_a_useless_offer_is_declined_at_once_for_long():
    run = Run(workers(1, gpus=1))
    run.subscribe()
    assert run.offer(an_offer("o1")) == [
        calls.Decline(("o1",), 3600.0, "too small for worker:0: gpus 0 < 1")
    ]


def test_a_rescinded_offer_is_not_used():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1"))
    run(mesos.OfferRescinded("o1"))
    assert only(calls.Launch, run.offer(an_offer("o2"))) == []


def test_offers_are_void_once_the_master_is_lost():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1"))
    run(mesos.Disconnected("connection reset"))
    run.subscribe()
    assert only(calls.Launch, run.offer(an_offer("o2"))) == []


def test_an_agent_where_tasks_keep_failing_is_left_alone_for_a_while_if_there_are_others():
    run = Run(workers(1))
    run.subscribe()
    run.offer(an_offer("o0", agent="other", cpus=0.1))
    for n in range(2):
        run.offer(an_offer(f"o{n + 1}", agent="bad"))
        run.update("worker:0", "TASK_FAILED", "no python3 there")
        run.wait(1)
    todo = run.offer(an_offer("o5", agent="bad"))
    assert only(calls.Launch, todo) == []
    (said,) = only(do.Say, todo)
    assert all(word in said.text for word in ("host-of-o5", f"{AVOIDED_FOR - 1:g} s", LEFT_ALONE))
    assert only(do.Say, run.offer(an_offer("o7", agent="bad"))) == []
    assert only(calls.Decline, todo)[0].refuse_seconds == pytest.approx(AVOIDED_FOR - 1)
    assert only(calls.Launch, run.offer(an_offer("o6", agent="other")))


def test_the_only_agent_there_is_gets_all_the_attempts():
    run = Run(workers(1))
    run.subscribe()
    for n in range(4):
        assert only(calls.Launch, run.offer(an_offer(f"o{n}", agent="only")))
        run.update("worker:0", "TASK_FAILED", "no python3 there")
        run.wait(3)
    assert run.outcome.exit_code == 1
