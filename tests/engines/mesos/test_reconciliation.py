"""Tasks of which nothing is heard are asked for."""

from tests.builders import workers
from tests.engines.mesos.run import Run
from tests.replay import only
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.reconciliation import AFTER_LAUNCH


def test_after_a_new_subscription_every_live_task_is_asked_for():
    run = Run(workers(2)).up()
    run.exit("worker:0")
    run.update("worker:0", "TASK_FINISHED")
    run(mesos.Disconnected("reset"))
    todo = run.subscribe()
    assert only(calls.Reconcile, todo) == [calls.Reconcile(((run.id("worker:1"), "agent-of-o1"),))]


def test_a_task_nobody_tells_of_is_asked_for_again_with_growing_pauses():
    run = Run(workers(2)).up()
    run.subscribe()
    run.update("worker:0", "TASK_RUNNING")
    asked = []
    for _ in range(8):
        run.now += 1.0
        asked += [(run.now, a.tasks) for a in only(calls.Reconcile, run.wait(0))]
    only_one = ((run.id("worker:1"), "agent-of-o1"),)
    assert asked == [(1.0, only_one), (3.0, only_one), (7.0, only_one)]
    run.update("worker:1", "TASK_RUNNING")
    assert only(calls.Reconcile, run.wait(100)) == []


def test_a_launched_task_of_which_nothing_is_heard_is_asked_for():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_STARTING")
    missing = calls.Reconcile(((run.id("worker:1"), "agent-of-o1"),))
    assert only(calls.Reconcile, run.wait(AFTER_LAUNCH - 1)) == []
    assert only(calls.Reconcile, run.wait(1)) == [missing]
    assert calls.Revive() in run.update("worker:1", "TASK_DROPPED", "Reconciliation: unknown")


def test_nobody_asks_for_tasks_that_are_heard_of():
    run = Run(workers(2)).up()
    assert only(calls.Reconcile, run.wait(10 * AFTER_LAUNCH)) == []
