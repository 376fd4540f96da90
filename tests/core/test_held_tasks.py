"""A task that is held keeps the run waiting, and nobody else is blamed meanwhile."""

from tests.builders import workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened

from .run import Run


def hold(run, name):
    return run(happened.TaskHeld(run.id(name), "exited with 7"))


def test_it_is_named_and_let_go_once():
    run = Run(workers(2)).up()
    (said,) = only(do.Say, hold(run, "worker:1"))
    assert "worker:1" in said.text and "exited with 7" in said.text
    todo = run(happened.ContinueRequested())
    assert [action.task_id for action in only(do.ContinueRunner, todo)] == [run.id("worker:1")]
    assert only(do.ContinueRunner, run(happened.ContinueRequested())) == []


def test_a_hang_is_not_counted_while_a_task_is_held():
    run = Run(workers(2), hang_timeout=60.0).up()
    hold(run, "worker:1")
    run(happened.TaskFellSilent(run.id("worker:0"), 60.0))
    run.wait(600)
    assert run.outcome is None


def test_a_run_that_stops_holds_nobody():
    run = Run(workers(2)).up()
    run(happened.StopRequested("stopped", 130))
    assert only(do.Say, hold(run, "worker:1")) == []


def test_a_task_that_is_started_again_is_held_no_more():
    run = Run(workers(1)).up()
    hold(run, "worker:0")
    members = run.state.members
    members.retry(next(iter(members)))
    assert members.held() == []
