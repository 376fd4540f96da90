"""All tasks are started again together."""

from tests.builders import workers
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.stopping import KILL_GRACE

from .restart_policies import ALL, KILLED, said
from .run import Run, ended, started


def test_all_are_stopped_and_started_again_with_a_fresh_cluster_spec():
    run = Run(workers(3), restarts=ALL).up()
    run.exit("worker:2", 0)
    todo = run.exit("worker:1", KILLED)
    assert names(said(todo)[0], "all tasks in 1 s", "(restart 1 of 3)")
    assert [stop.task_id for stop in only(do.StopRunner, todo)] == [run.id("worker:0")]
    assert started(run.exit("worker:0", 143)) == []
    begun, *todo = run.wait(1)
    assert (begun.number, begun.is_restart) == (1, True)
    assert started(todo) == [f"run-worker-{i}-2" for i in range(3)]
    for i in range(3):
        todo = run(happened.TaskRegistered(f"run-worker-{i}-2", f"10.0.0.7:{6000 + i}", 6000 + i))
    (start,) = only(do.Start, todo)
    assert start.cluster == {"worker": [f"10.0.0.7:{6000 + i}" for i in range(3)]}
    assert len(only(do.AnnounceReady, run.ready())) == 1
    for i in range(3):
        run.exit(f"worker:{i}")
    assert run.outcome.ok


def test_a_task_that_does_not_stop_does_not_hold_up_the_restart_of_all():
    run = Run(workers(2), restarts=ALL).up()
    run.exit("worker:1", KILLED)
    old = run.id("worker:0")
    todo = run.wait(KILL_GRACE + 10)
    assert ended(todo) == [old] and len(started(todo)) == 2
    assert only(do.Refuse, todo) == [do.Refuse(old)]
    assert run.state.phase is Phase.STARTING


def test_those_that_fall_with_a_killed_task_do_not_prevent_the_restart_of_all():
    run = Run(workers(2), restarts=ALL).up()
    run.exit("worker:1", KILLED)
    run.exit("worker:0", 1, "exited with 1")
    assert len(started(run.wait(1))) == 2


def test_a_stop_during_the_restart_of_all_ends_the_run():
    run = Run(workers(2), restarts=ALL).up()
    run.exit("worker:1", KILLED)
    run(happened.StopRequested("interrupted", 130))
    run.wait(60)
    assert run.outcome.exit_code == 130
