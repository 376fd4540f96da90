"""All tasks write a checkpoint together when one of them has to go, or their owner wants it."""

import pytest

from tests.builders import workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.generations.notices import why_not_checkpoint
from tfmesos.core.phases import Phase

from .life import Life, exited, said
from .restart_policies import ALL, KILLED
from .test_generations import stopped, up_again

NOTICE = happened.NoticeGiven("its owner requested a checkpoint")


def leaving(task_id, reason="is leaving", is_notice=True):
    return happened.NodeDrained(task_id, reason, is_notice=is_notice)


def told_to_end(todo):
    return [stop.task_id for stop in only(do.StopRunner, todo)]


def test_a_notice_stops_all_tasks_at_once_and_starts_them_again():
    life = Life(workers(3), restarts=ALL).up()
    assert told_to_end(life(NOTICE)) == life.ids()
    (begun,) = only(do.BeginGeneration, stopped(life))
    assert (begun.number, begun.why, begun.is_restart) == (1, NOTICE.reason, False)


def test_a_notice_counts_as_none_of_the_restarts():
    life = Life(workers(1), restarts=ALL.replace(limit=1)).up()
    for _ in range(3):
        life(NOTICE)
        stopped(life)
        up_again(life)
    assert "restart 1 of 1" in said(life(exited(life.ids()[0], KILLED)))[0][0]


def test_without_the_restart_of_all_a_notice_ends_the_run_for_now():
    life = Life(workers(2)).up()
    assert told_to_end(life(NOTICE)) == life.ids()
    stopped(life)
    assert (life.outcome.exit_code, str(life.outcome.error)) == (75, NOTICE.reason)


def test_a_task_that_has_to_leave_its_node_takes_the_others_with_it_in_good_order():
    life = Life(workers(3), restarts=ALL).up()
    todo = life(leaving(life.ids()[1]))
    assert told_to_end(todo) == life.ids()
    assert "worker:1 is leaving" in said(todo)[0][0]
    (begun,) = only(do.BeginGeneration, stopped(life))
    assert begun.why.startswith("worker:1 is leaving on host-")


def test_the_run_that_a_leaving_task_ends_says_why_and_shows_its_last_lines():
    life = Life(workers(2)).up()
    second = life.ids()[1]
    life(leaving(second, "was deleted"))
    life(leaving(second, "had to make room", is_notice=False))
    stopped(life)
    assert life.outcome.exit_code == 75
    assert "worker:1 had to make room" in str(life.outcome.error)
    assert life.outcome.cause.task.name == "worker:1" and life.outcome.cause.tail == ("last",)


def test_what_is_learned_later_is_why_the_next_generation_begins():
    life = Life(workers(1), restarts=ALL).up()
    (only_one,) = life.ids()
    life(leaving(only_one, "was deleted"))
    life(leaving(only_one, "had to make room", is_notice=False))
    (begun,) = only(do.BeginGeneration, stopped(life))
    assert "had to make room" in begun.why


def test_where_a_task_is_restarted_alone_the_others_go_on():
    life = Life(workers(2), restarts=ALL.replace(after_start="task")).up()
    assert life(leaving(life.ids()[0])) == [] and life.state.phase is Phase.RUNNING


def test_an_end_that_was_not_announced_is_no_notice():
    life = Life(workers(2), restarts=ALL).up()
    assert life(leaving(life.ids()[0], is_notice=False)) == []


@pytest.mark.parametrize("may_go_on", [True, False])
def test_a_time_limit_ends_a_run_that_cannot_go_on_with_its_own_code(may_go_on):
    notice = happened.NoticeGiven("its time is up", True, may_go_on, grace=40.0)
    life = Life(workers(1), restarts=ALL).up()
    (stop,) = only(do.StopRunner, life(notice))
    assert stop.grace == 40.0
    todo = stopped(life)
    if may_go_on:
        assert only(do.BeginGeneration, todo) and life.outcome is None
    else:
        assert (life.outcome.exit_code, str(life.outcome.error)) == (124, "its time is up")


def test_a_time_limit_also_ends_a_run_that_has_not_begun():
    life = Life(workers(1), restarts=ALL)
    life(happened.EngineReady())
    life(happened.NoticeGiven("its time is up", is_time_limit=True))
    assert life.outcome.exit_code == 124


def test_the_tasks_are_stopped_before_the_run_takes_too_long_and_have_that_time():
    life = Life(workers(1), run_timeout=100.0, checkpoint_before=30.0).up()
    assert life.state.deadline == 70.0
    (stop,) = only(do.StopRunner, life(happened.Ticked(), 70.0))
    assert stop.grace == 30.0
    stopped(life)
    assert life.outcome.exit_code == 124
    assert str(life.outcome.error) == "stopped 30 s before its time limit of 100 s"


def test_a_run_that_does_not_run_yet_or_no_longer_cannot_write_a_checkpoint():
    life = Life(workers(1))
    assert "not running yet" in why_not_checkpoint(life.state.phase) and life(NOTICE) == []
    life.up()
    assert why_not_checkpoint(life.state.phase) == ""
    life(happened.StopRequested("stopped", 130))
    assert "ending" in why_not_checkpoint(life.state.phase) and life(NOTICE) == []


def test_the_grace_of_a_notice_is_not_that_of_the_next_stop():
    life = Life(workers(1), restarts=ALL, stop_grace=3.0).up()
    life(happened.NoticeGiven("soon", grace=50.0))
    stopped(life)
    up_again(life)
    (stop,) = only(do.StopRunner, life(happened.StopRequested("stop", 130)))
    assert stop.grace == 3.0
