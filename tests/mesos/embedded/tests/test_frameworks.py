"""Frameworks that leave, come back or are thrown out."""

from __future__ import annotations

from tests.mesos.embedded.effects import End, Kill

from .master_state import Bench, cpus
from .wire import framework, task


def test_what_a_torn_down_framework_held_is_free_when_its_processes_are_gone():
    bench = Bench()
    bench.subscribe(stream="one")
    (one,) = bench.run(task("t", "true", cpus=3), offers=bench.offers("one"))
    bench.call("TEARDOWN")
    assert End("one") in bench.effects
    bench.subscribe(stream="two")
    assert [cpus(offer) for offer in bench.offers("two")] == [1.0]
    bench.end(one)
    assert [cpus(offer) for offer in bench.offers("two")] == [1.0, 3.0]
    assert bench.states("t", "one") == ["TASK_STARTING"]


def test_a_framework_that_is_away_too_long_is_removed_and_its_id_burnt():
    bench = Bench()
    bench.subscribe(framework(failover_timeout=30.0))
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.disconnected("s", bench.now)
    bench.wait(29)
    assert bench.effects[-1] != Kill(one.container_id, 3.0)
    bench.wait(2)
    assert Kill(one.container_id, 3.0) in bench.effects
    bench.subscribe(framework(id={"value": "M-0000"}), stream="late")
    assert bench.events("ERROR", "late")[0]["error"]["message"] == "Framework has been removed"
    assert bench.effects[-1] == End("late")


def test_of_what_has_ended_it_keeps_no_environment_and_fifty_frameworks_only():
    bench = Bench()
    secret = {"variables": [{"name": "SECRET", "value": "s3cr3t"}]}
    for number in range(51):
        name = f"M-{number:04}"
        bench.subscribe(stream=name)
        bench.launch(
            task("t", {"value": "true", "environment": secret}),
            offers=bench.offers(name)[-1:],
            framework_id=name,
        )
        (one,) = bench.state.frameworks[name].all_tasks
        assert one.info["command"]["environment"] == secret
        bench.end(one)
        assert one.info["command"] == {"value": "true", "environment": {}}
        bench.call("TEARDOWN", name)
    assert list(bench.state.completed) == [f"M-{number:04}" for number in range(1, 51)]


def test_a_framework_that_is_back_in_time_gets_its_pending_updates_at_once():
    bench = Bench()
    bench.subscribe(framework(failover_timeout=30.0))
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.disconnected("s", bench.now)
    bench.end(one)
    bench.subscribe(framework(id={"value": "M-0000"}), stream="again")
    assert bench.states("t", "again") == ["TASK_STARTING"]


def test_a_second_subscriber_with_the_same_id_throws_the_first_out():
    bench = Bench()
    bench.subscribe()
    bench.subscribe(framework(id={"value": "M-0000"}), stream="new")
    assert bench.events("ERROR")[0]["error"]["message"] == "Framework failed over"
    assert End("s") in bench.effects
    bench.effects += bench.state.disconnected("s", bench.now)  # the old connection closes
    assert bench.state.frameworks["M-0000"].stream == "new"


def test_what_happened_on_a_lost_agent_is_told_when_it_is_back():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true"))
    bench.effects += bench.state.lose_agent("M-S0", bench.now)
    bench.acknowledge(bench.updates("t")[0])  # does not reach the agent
    bench.end(one)
    assert bench.states("t") == ["TASK_STARTING", "TASK_UNREACHABLE"]
    bench.effects += bench.state.recover_agent("M-S0", bench.now)
    assert bench.states("t") == ["TASK_STARTING", "TASK_UNREACHABLE", "TASK_STARTING"]
