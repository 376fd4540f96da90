"""The life of a run, from its first task to its end."""

from tests.builders import servers, workers
from tests.replay import Run, only
from tfmesos.core import actions as do
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos


def test_everybody_is_told_of_everybody_when_the_last_one_has_registered():
    run = Run(workers(2), servers(1))
    run.subscribe()
    run.offer()
    assert only(do.Start, run.register("worker:1", "ps:0")) == []
    (start,) = only(do.Start, run.register("worker:0"))
    assert start.cluster == {
        "worker": ["10.0.0.1:4000", "10.0.0.1:4000"],
        "ps": ["10.0.0.1:4001"],
    }
    assert [task_id for task_id, _ in start.tasks] == [
        "run-worker-0-1",
        "run-worker-1-1",
        "run-ps-0-1",
    ]


def test_the_cluster_is_ready_when_every_command_runs():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register()
    assert run.ready("worker:0") == []
    (ready,) = run.ready("worker:1")
    assert isinstance(ready, do.AnnounceReady)


def test_a_task_may_end_well_before_the_others_have_begun():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register()
    run.ready("worker:0")
    assert run.exit("worker:0") == []
    run.ready("worker:1")
    run.exit("worker:1")
    assert run.outcome.ok


def test_an_operator_who_wants_a_node_back_is_told_that_we_stay():
    run = Run(workers(1)).up()
    said, declined = run(mesos.InverseOffersReceived(("i1",), ("agent-of-o1",)))
    assert "take down the node of worker:0" in said.text
    assert declined == calls.DeclineInverse(("i1",), 3600.0)


def test_the_outcome_tells_where_the_time_went():
    run = Run(workers(1))
    for step in (run.subscribe, run.offer, run.register, run.ready, lambda: run.exit("worker:0")):
        run.now += 2.0
        step()
    assert run.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("starting the tasks", 4.0),
        ("running", 2.0),
        ("stopping", 0.0),
    )
