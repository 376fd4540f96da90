"""Tasks that are killed."""

from __future__ import annotations

from tests.mesos.embedded.effects import Kill

from .master_state import Bench
from .wire import grace, task


def test_a_task_killed_before_it_started_says_so():
    bench = Bench()
    bench.subscribe()
    (early,) = bench.launch(task("early", "true"))
    bench.call("KILL", task_id={"value": "early"})
    assert [e for e in bench.effects if isinstance(e, Kill)] == [Kill(early.container_id, 3.0)]
    bench.effects += bench.state.task_refused(
        early.container_id, "TASK_KILLED", "REASON_TASK_KILLED_DURING_LAUNCH", "early", bench.now
    )
    (status,) = bench.updates("early")
    assert status["state"] == "TASK_KILLED"
    assert "uuid" in status and "container_status" not in status


def test_the_grace_of_a_kill_is_the_one_of_the_task_not_of_the_call():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true", **grace(5)))
    bench.call("KILL", task_id={"value": "t"}, **grace(1))
    assert bench.effects[-1] == Kill(one.container_id, 5.0)


def test_a_second_kill_does_nothing():
    bench = Bench()
    bench.subscribe()
    bench.run(task("t", "true"))
    bench.call("KILL", task_id={"value": "t"})
    bench.call("KILL", task_id={"value": "t"})
    assert len([e for e in bench.effects if isinstance(e, Kill)]) == 1
