"""What a run on Mesos says it is waiting for."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tests.sentences import names
from tfmesos.config.constraints import Node
from tfmesos.config.job import Resources
from tfmesos.core import actions as do
from tfmesos.core.waiting import FIRST_NOTICE
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.feasibility import ASK_AFTER, ASK_EVERY, Holder, KnownAgent
from tfmesos.engines.mesos.gang import HOLD, MEMORY

from .offers import an_offer, ports, scalar
from .run import Run


def test_a_wait_says_what_it_is_for():
    run = Run(workers(2, cpus=4))
    said = only(do.Say, run.wait(FIRST_NOTICE))
    run.subscribe()
    said += only(do.Say, run.wait(10))
    run.offer(an_offer("o1", cpus=6))
    said += only(do.Say, run.wait(10))
    assert {one.level for one in said} == {"notice"}
    _, before, then = [one.text for one in said]
    assert names(before, "0 of 2 tasks placed", "worker:0 needs cpus 4, mem 1024", "no offer")
    assert names(then, "1 of 2 tasks placed", "worker:1", "missing 2 cpus", "cpus 6", "host-of-o1")


def test_a_wait_for_ports_names_them_and_who_has_none_left():
    run = Run(workers(3))
    run.subscribe()
    few = [ports((31000, 31000))]
    run.offer(an_offer("o1", host="a", more=few), an_offer("o2", host="b", more=few))
    (said,) = only(do.Say, run.wait(FIRST_NOTICE))
    assert names(said.text, "2 of 3 tasks placed", "worker:2", "no port", "a, b", "cpus 4")


def test_a_wait_names_the_constraint_that_stands_in_its_way():
    run = Run(workers(3, constraints=["hostname:UNIQUE"]), servers(1, cpus=9))
    run.subscribe()
    run.offer(an_offer("o1", host="node-a"), an_offer("o2", host="node-b"))
    (said,) = only(do.Say, run.wait(FIRST_NOTICE))
    assert names(said.text, "2 of 4 tasks placed", "worker:2", "hostname:UNIQUE", "node-a, node-b")
    assert names(said.text, "ps:0 needs cpus 9", "missing 3 cpus", "cpus 4", "on node-a")


def test_a_wait_names_the_constraint_that_no_offer_meets():
    run = Run(workers(1, constraints=["rack:IS:r1"]))
    run.subscribe()
    declined = run.offer(an_offer("o1", rack="r2"), an_offer("o2", rack="r3"))
    assert declined == [calls.Decline(("o1", "o2"), 3600.0, "not for worker:0: rack:IS:r1")]
    (said,) = only(do.Say, run.wait(FIRST_NOTICE))
    assert names(said.text, "0 of 1 task placed", "worker:0", "rack:IS:r1", "(rack: r2, r3)")


def test_what_is_there_in_pieces_is_told_apart_from_what_is_missing():
    run = Run(workers(3, cpus=3, disk=10))
    run.subscribe()
    more = [scalar("disk", 100)]
    run.offer(*(an_offer(f"o{i}", cpus=4.5, more=more) for i in range(2)))
    (said,) = only(do.Say, run.wait(FIRST_NOTICE))
    assert names(said.text, "2 of 3 tasks placed", "worker:2 needs cpus 3, mem 1024, disk 10")
    assert "no single" in said.text


def test_what_the_last_offers_were_worth_is_told_until_it_is_too_old():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1", cpus=4))
    run.wait(max(HOLD) + 1)
    assert "1 of 2 tasks placed" in run.state.summary()
    run.wait(max(HOLD) + MEMORY)
    assert "0 of 2 tasks placed" in run.state.summary()
    assert "is on offer now" in run.state.summary()


def test_a_task_launched_again_keeps_away_from_the_hosts_of_its_fellows():
    run = Run(workers(2, constraints=["hostname:UNIQUE"]))
    run.subscribe()
    run.offer(an_offer("o1", host="node-a"), an_offer("o2", host="node-b"))
    run.update("worker:1", "TASK_FAILED")
    (declined,) = run.offer(an_offer("o3", host="node-a"))
    assert declined.reason == "not for worker:1: hostname:UNIQUE"
    (launch,) = only(calls.Launch, run.offer(an_offer("o4", host="node-b")))
    assert launch.hostname == "node-b"


def test_the_master_is_asked_for_its_agents_only_when_there_is_no_place_at_once():
    run = Run(workers(1))
    run.subscribe()
    run.now = ASK_AFTER / 2
    run.offer()
    assert only(calls.CountAgents, run.wait(100)) == []
    run = Run(workers(1))
    run.subscribe()
    assert only(calls.CountAgents, run.wait(ASK_AFTER)) == [calls.CountAgents()]


def known(hostname, cpus):
    return KnownAgent(Node(hostname), Resources.of(cpus, 8192))


def test_what_can_never_be_placed_ends_the_run_with_the_numbers():
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.wait(ASK_AFTER)
    run(mesos.AgentsCounted((known("a", 2), known("b", 4))))
    assert run.outcome.exit_code == 75
    assert names(str(run.outcome.error), "worker:0 needs cpus 8", "more than cpus 4 (b)")


def test_a_wait_says_who_holds_what_and_for_how_long():
    run = Run(workers(1, cpus=4))
    run.subscribe()
    run.wait(ASK_AFTER)
    held = [(2.0, 40.0), (1.0, 720.0), (0.5, 3 * 3600.0), (0.1, 5 * 86400.0)]
    holders = [
        Holder(f"job {n}", "alice", Resources.of(cpus, 64), seconds)
        for n, (cpus, seconds) in enumerate(held)
    ]
    run(mesos.AgentsCounted((known("a", 8), known("b", 1)), tuple(holders)))
    (said,) = only(do.Say, run.wait(FIRST_NOTICE))
    assert names(said.text, "0 of 1 task placed", "worker:0 needs cpus 4", "1 of 2 agents")
    held_by = ("'job 0' of alice (cpus 2, mem 64, for 40 s)", "'job 1'", "12 min", "'job 2'", "3 h")
    assert names(said.text, "held by", *held_by, "1 more")


@pytest.mark.parametrize("agents", [None, (), (known("a", 8),)])
def test_a_run_waits_when_nobody_tells_or_agents_are_large_enough(agents):
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.wait(ASK_AFTER)
    assert run(mesos.AgentsCounted(agents)) == []
    assert len(only(calls.CountAgents, run.wait(ASK_EVERY))) == 1


def test_what_was_placed_once_is_waited_for_even_if_an_agent_is_gone():
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.offer(an_offer(cpus=8))
    run.update("worker:0", "TASK_LOST")
    assert run(mesos.AgentsCounted((known("small", 1),))) == []


def test_the_start_timeout_reports_what_was_missing():
    run = Run(workers(1, gpus=1), start_timeout=5.0)
    run.subscribe()
    run.offer(an_offer())
    run.wait(5)
    assert run.outcome.exit_code == 75
    text = str(run.outcome.error)
    assert names(
        text, "5 s", "0 of 1 task placed", "worker:0", "missing 1 gpu", "gpus 0 on host-of"
    )


def test_the_start_timeout_tells_why_there_is_no_master():
    run = Run(workers(1), start_timeout=5.0)
    trouble = "no Mesos master yet: http://m:5050: 503 Service Unavailable"
    assert run(mesos.MasterSought(trouble)) == [do.Say(trouble, "notice")]
    run.wait(5)
    assert run.outcome.exit_code == 69
    assert names(str(run.outcome.error), "5 s", trouble)
