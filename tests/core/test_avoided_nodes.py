"""Nodes on which tasks keep failing are left alone."""

import pytest

from tests.builders import an_offer, workers
from tests.replay import Run, only
from tfmesos.core.avoided_nodes import AVOIDED_FOR, AvoidedNodes
from tfmesos.engines.mesos import actions as calls

from .restart_policies import said


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
    assert said(todo) == [
        f"host-of-o5 is left alone for {AVOIDED_FOR - 1:g} s: "
        "tasks keep failing there, or were to leave it"
    ]
    assert said(run.offer(an_offer("o7", agent="bad"))) == []
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


def test_a_node_is_left_alone_after_two_failures_in_a_row():
    nodes = AvoidedNodes()
    nodes.failed("n", 1.0)
    nodes.worked("n")
    nodes.failed("n", 2.0)
    assert nodes.until == {}
    nodes.failed("n", 3.0)
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}
    nodes.failed("n", 40.0)
    nodes.worked("another")
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}
