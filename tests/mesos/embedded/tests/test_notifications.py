"""What the master tells its frameworks, and how often."""

from __future__ import annotations

import base64

from .master_state import Bench
from .wire import framework, task


def test_a_heartbeat_follows_the_subscription_at_once_and_then_every_15_seconds():
    bench = Bench()
    bench.subscribe(framework("MULTI_ROLE", roles=[]))
    assert len(bench.events("HEARTBEAT")) == 1
    bench.wait(14.9)
    assert len(bench.events("HEARTBEAT")) == 1
    bench.wait(15.2)
    assert len(bench.events("HEARTBEAT")) == 3


def test_updates_leave_one_at_a_time():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true"))
    bench.end(one)
    assert bench.states("t") == ["TASK_STARTING"]
    bench.acknowledge(bench.updates("t")[-1])
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING"]
    bench.acknowledge(bench.updates("t")[-1])
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]


def test_an_unacknowledged_update_is_sent_again_after_10_and_20_more_seconds():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    sent = []
    for _second in range(71):
        sent.append(len(bench.updates("t")))
        bench.wait(1)
    assert [sent.index(number) for number in (1, 2, 3, 4)] == [0, 10, 30, 70]
    assert len({status["uuid"] for status in bench.updates("t")}) == 1


def test_a_repeated_or_foreign_acknowledgement_changes_nothing():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    first = bench.updates("t")[0]
    bench.acknowledge(first)
    bench.acknowledge(first)
    bench.acknowledge({**first, "uuid": base64.b64encode(bytes(16)).decode()})
    assert bench.states("t") == ["TASK_STARTING", "TASK_RUNNING"]
