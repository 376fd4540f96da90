"""The life of a run, from its first task to its end."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened

from .life import FIRST, Life, exited
from .run import Run


def test_everybody_is_told_of_everybody_when_the_last_one_has_registered():
    run = Run(workers(2), servers(1))
    run.place()
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
    run.place()
    run.register()
    assert run.ready("worker:0") == []
    (ready,) = run.ready("worker:1")
    assert isinstance(ready, do.AnnounceReady)


def test_a_task_may_end_well_before_the_others_have_begun():
    run = Run(workers(2))
    run.place()
    run.register()
    run.ready("worker:0")
    assert run.exit("worker:0") == []
    run.ready("worker:1")
    run.exit("worker:1")
    assert run.outcome.ok


def test_the_outcome_tells_where_the_time_went():
    life = Life(workers(1))
    life(happened.EngineReady(), 2.0)
    life.now = 4.0
    life.place()
    life(happened.TaskRegistered(FIRST, "h:0", 0), 6.0)
    life(happened.TaskReady(FIRST), 8.0)
    life(exited(FIRST, 0), 10.0)
    assert life.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("starting the tasks", 4.0),
        ("running", 2.0),
        ("stopping", 0.0),
    )
