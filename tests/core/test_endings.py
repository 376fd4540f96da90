"""How the end of a task is told: by its engine, by its runner, by both."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import EVICTION_REASON, UNREACHABLE_GRACE
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN
from tfmesos.errors import DRAINED, EVICTED

from .restart_policies import said
from .run import HOST, Run, ended, started

STOPPING = KILL_GRACE + STOP_MARGIN


def test_the_first_failure_is_the_cause_and_the_others_are_stopped():
    run = Run(workers(2), servers(1)).up()
    todo = run.exit("worker:1", 3)
    assert {a.task_id for a in only(do.StopRunner, todo)} == {run.id("worker:0"), run.id("ps:0")}
    run.exit("worker:0", 1)
    run.exit("ps:0", 143)
    assert str(run.outcome.error) == f"worker:1 exited with 3 on {HOST}"
    assert run.outcome.exit_code == 3
    assert run.outcome.cause.tail == ("last words",)
    assert [ending.task.name for ending in run.outcome.others] == ["worker:0", "ps:0"]


def test_tasks_that_we_stopped_ourselves_did_not_fail_after_the_cause():
    run = Run(workers(3), servers(2)).up()
    run.exit("worker:1", 3)
    stopped = happened.TaskExited(run.id("worker:0"), 143, "was killed", was_stopped=True)
    run(stopped)
    run(stopped.replace(task_id=run.id("ps:0"), code=7, reason="exited with 7"))
    run.exit("worker:2", 1)
    run.gone("ps:1", 137, was_killed=True)
    run.wait(STOPPING)
    assert [ending.task.name for ending in run.outcome.others] == ["worker:2"]


def evicted(run):
    return run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")


def drained(run, **more):
    return run(happened.NodeDrained(run.id("worker:0"), **more))


def test_a_drained_node_is_named_before_its_runner_has_told_of_the_end():
    run = Run(workers(1)).up()
    drained(run, is_notice=True)
    evicted(run)
    assert str(run.outcome.error) == f"worker:0 {DRAINED} on {HOST}"
    assert (run.outcome.exit_code, run.outcome.cause.tail) == (75, ("last words",))


def test_a_drained_node_is_named_although_its_runner_was_faster_to_tell():
    run = Run(workers(1)).up()
    evicted(run)
    assert run.outcome is None
    drained(run)
    run.gone("worker:0", 143, was_killed=True)
    assert str(run.outcome.error) == f"worker:0 {DRAINED} on {HOST}"
    assert run.outcome.cause.tail == ("last words",)


def test_a_task_that_its_node_ended_is_told_of_even_if_its_engine_says_nothing():
    run = Run(workers(1)).up()
    evicted(run)
    run.wait(EVICTION_REASON)
    assert str(run.outcome.error).startswith(f"worker:0 {EVICTED}: it was killed by")


def test_a_task_of_a_drained_node_is_worth_a_restart_elsewhere():
    run = Run(workers(1), restarts=RestartPolicy(after_start="task", codes=frozenset())).up()
    drained(run, is_notice=True)
    evicted(run)
    assert started(run.wait(1)) == ["run-worker-0-2"]


def test_only_of_a_runner_that_answers_it_is_said_that_it_does():
    run = Run(workers(2)).up()
    (text,) = said(run(happened.TaskUnreachable(run.id("worker:0"))))
    assert f"worker:0 on {HOST}" in text and "its runner answers" in text
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    (text,) = said(run(happened.TaskUnreachable(run.id("worker:1"))))
    assert f"worker:1 on {HOST}" in text and "answers" not in text


def test_a_failing_ps_fails_the_run():
    run = Run(workers(1), servers(1)).up()
    run.exit("ps:0", 1)
    run.exit("worker:0", 143)
    assert run.outcome.cause.task.name == "ps:0"


def test_a_server_that_ends_by_itself_has_failed():
    run = Run(Job("ps", 1)).up()
    run.exit("ps:0", 0)
    assert not run.outcome.ok


def test_the_runners_own_report_is_preferred_to_that_of_its_engine():
    run = Run(workers(1)).up()
    run.gone("worker:0", 3)
    assert run.outcome is None
    run.exit("worker:0", 3)
    assert run.outcome.cause.tail == ("last words",)


@pytest.mark.parametrize("code", [1, 137])
def test_without_a_word_of_the_runner_its_engine_is_believed_after_a_moment(code):
    run = Run(workers(1)).up()
    run.gone("worker:0", code, "ended so")
    run.wait(STOPPING)
    assert str(run.outcome.error) == f"worker:0 ended so on {HOST}"
    assert run.outcome.exit_code == code


def test_a_runner_that_is_lost_is_killed_and_fails_the_run():
    run = Run(workers(1)).up()
    assert ended(run(happened.RunnerLost(run.id("worker:0"), "connection reset"))) == [
        run.id("worker:0")
    ]
    run.wait(STOPPING)
    text = str(run.outcome.error)
    assert "worker:0 lost touch" in text and "connection reset" in text and HOST in text


def test_a_lost_runner_stays_the_cause_although_its_engine_kills_its_task_then():
    run = Run(workers(1)).up()
    run(happened.RunnerLost(run.id("worker:0"), "silent for 20 s"))
    run.gone("worker:0", 137, "was killed", was_killed=True)
    assert "silent for 20 s" in str(run.outcome.error)


def test_a_task_out_of_reach_may_come_back():
    run = Run(workers(1)).up()
    run(happened.TaskUnreachable(run.id("worker:0")))
    run.wait(UNREACHABLE_GRACE / 2)
    run.seen("worker:0")
    run.wait(UNREACHABLE_GRACE)
    assert run.outcome is None
    run.exit("worker:0")
    assert run.outcome.ok


def test_a_task_out_of_reach_goes_on_as_long_as_its_runner_is_heard():
    run = Run(workers(1)).up()
    run(happened.TaskUnreachable(run.id("worker:0")))
    run.wait(100 * UNREACHABLE_GRACE)
    assert run.outcome is None
    run(happened.RunnerLost(run.id("worker:0"), "silent for 20 s"))
    text = str(run.outcome.error)
    assert "unreachable" in text and "silent for 20 s" in text
