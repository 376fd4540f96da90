"""An engine says that a task has ended whose runner lives, as after the death of its executor."""

import pytest

from tests.builders import workers
from tests.core.life import FIRST, SECOND, Life, exited, said
from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import SECOND_REPORT
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN

TAKES = KILL_GRACE + STOP_MARGIN
LOST = "failed (its executor has died)"


def gone(task_id=FIRST, code=1, **more):
    return happened.TaskEnded(task_id, code, LOST, **{"is_lost": True, **more})


def stopped(task_id=FIRST):
    return exited(task_id, 143, "was killed by SIGTERM (signal 15)", was_stopped=True)


def stops(todo):
    return [(stop.task_id, stop.grace) for stop in only(do.StopRunner, todo)]


def test_its_runner_is_stopped_and_its_end_is_awaited():
    life = Life(workers(1)).up()
    assert stops(life(gone(), 10.0)) == [(FIRST, KILL_GRACE)]
    assert life.state.deadline > 10.0 + SECOND_REPORT
    life(stopped(), 12.0)
    cause = life.outcome.cause
    assert (cause.code, cause.reason, cause.at) == (1, LOST, 10.0)
    assert (cause.tail, cause.is_reported, cause.was_stopped) == (("last",), True, False)


def test_it_is_waited_for_no_longer_than_stopping_takes():
    life = Life(workers(1)).up()
    life(gone(), 10.0)
    assert life.state.deadline == 10.0 + TAKES
    life(happened.Ticked(), 10.0 + TAKES)
    assert (life.outcome.cause.reason, life.outcome.cause.is_reported) == (LOST, False)


def test_a_finalizer_has_its_time():
    life = Life(workers(1), has_finalizer=True).up()
    life(gone(), 10.0)
    assert life.state.deadline == 10.0 + 2 * KILL_GRACE + STOP_MARGIN


def test_what_the_engine_says_twice_changes_nothing():
    life = Life(workers(1)).up()
    life(gone(), 10.0)
    assert life(gone(), 11.0) == []
    assert life.outcome is None and life.state.deadline == 10.0 + TAKES


def test_a_runner_whose_connection_ends_has_ended_with_its_task():
    life = Life(workers(1)).up()
    life(gone(), 10.0)
    life(happened.RunnerOutOfTouch(FIRST), 10.1)
    assert life.state.deadline == pytest.approx(10.1 + SECOND_REPORT)
    life(happened.Ticked(), 10.1 + SECOND_REPORT + 0.01)
    assert life.outcome.cause.reason == LOST


def test_a_runner_that_was_out_of_touch_is_not_waited_for_longer_than_before():
    life = Life(workers(1)).up()
    life(happened.RunnerOutOfTouch(FIRST), 9.0)
    assert stops(life(gone(), 10.0)) == [(FIRST, KILL_GRACE)]  # should it come back
    assert life.state.deadline == 10.0 + SECOND_REPORT


def test_a_task_that_was_out_of_reach_and_is_gone_now_is_stopped_if_its_runner_answers():
    life = Life(workers(1)).up()
    life(happened.TaskUnreachable(FIRST), 9.0)
    assert stops(life(gone(), 10.0)) == [(FIRST, KILL_GRACE)]
    life(stopped(), 11.0)
    assert (life.outcome.cause.reason, life.outcome.cause.at) == (LOST, 10.0)


def test_a_command_that_ended_by_itself_just_then_has_its_own_end():
    life = Life(workers(1)).up()
    life(gone(is_lost=False), 10.0)
    life(exited(FIRST, 3, "exited with 3"), 10.2)
    assert (life.outcome.cause.code, life.outcome.cause.reason) == (3, "exited with 3")


def test_a_task_that_the_run_stops_was_stopped_by_the_run_whatever_its_engine_says():
    life = Life().up()
    assert stops(life(exited(FIRST, 3), 10.0)) == [(SECOND, KILL_GRACE)]
    assert stops(life(gone(SECOND), 10.1)) == []
    life(stopped(SECOND), 10.2)
    assert life.outcome.others == ()


def test_one_that_caused_another_failure_is_reported_and_awaited_all_the_same():
    life = Life().up()
    life(gone(), 10.0)
    assert stops(life(exited(SECOND, 1), 11.0)) == []  # both have ended, or been stopped
    assert life.outcome is None
    life(stopped(), 12.0)
    assert life.outcome.cause.task.name == "worker:0"
    assert [end.task.name for end in life.outcome.others] == ["worker:1"]


@pytest.mark.parametrize(
    "event", [happened.RunnerOutOfTouch(FIRST), happened.RunnerLost(FIRST, "gone")]
)
def test_one_whose_connection_ends_meanwhile_is_not_awaited(event):
    life = Life().up()
    life(gone(), 10.0)
    life(exited(SECOND, 1), 11.0)
    life(event, 12.0)
    assert life.outcome.cause.task.name == "worker:0"


def test_the_wait_for_one_that_never_ends_is_bounded():
    life = Life().up()
    life(gone(), 10.0)
    life(exited(SECOND, 1), 11.0)
    assert life.state.deadline == 11.0 + TAKES
    life(happened.Ticked(), 11.0 + TAKES)
    assert life.outcome.cause.task.name == "worker:0"


def test_a_task_is_started_again_after_its_runner_has_ended():
    life = Life(restarts=RestartPolicy(after_start="task")).up()
    assert only(do.Place, life(gone(), 10.0)) == []
    todo = life(stopped(), 12.0)
    assert said(todo)[0][0].endswith("in 1 s (restart 1 of 3)")
    assert LOST in said(todo)[0][0]
    (wanted,) = only(do.Place, life(happened.Ticked(), 13.0))
    assert [one.task_id for one in wanted.tasks] == ["run-worker-0-2"]


def test_all_are_started_again_after_the_last_runner_has_ended():
    life = Life(restarts=RestartPolicy(after_start="all")).up()
    life(gone(), 10.0)
    assert stops(life(stopped(), 11.0)) == [(SECOND, KILL_GRACE)]
    (wanted,) = only(do.Place, life(stopped(SECOND), 12.0))
    assert len(wanted.tasks) == 2


def test_before_the_start_it_is_launched_again():
    life = Life()
    life(happened.EngineReady(), 1.0)
    life.place()
    life(happened.TaskRegistered(FIRST, "h:1", 1), 2.0)
    assert stops(life(gone(), 3.0)) == [(FIRST, KILL_GRACE)]
    reported = exited(FIRST, 143, "was stopped before it started", was_stopped=True)
    assert "restart 1 of 3" in said(life(reported, 4.0))[0][0]
