"""How the end of a task is told: by Mesos, by its runner, by both."""

import pytest

from tests.builders import servers, workers
from tests.replay import Run, only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import EVICTION_REASON, UNREACHABLE_GRACE
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos.task_reasons import DRAINING
from tfmesos.errors import EVICTED

STOPPING = KILL_GRACE + STOP_MARGIN


def test_the_first_failure_is_the_cause_and_the_others_are_stopped():
    run = Run(workers(2), servers(1)).up()
    todo = run.exit("worker:1", 3)
    assert {a.task_id for a in only(do.StopRunner, todo)} == {run.id("worker:0"), run.id("ps:0")}
    run.exit("worker:0", 1)
    run.exit("ps:0", 143)
    assert str(run.outcome.error) == "worker:1 exited with 3 on host-of-o1"
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
    run.update("ps:1", "TASK_KILLED", "Command terminated with signal Killed")
    run.wait(STOPPING)
    assert [ending.task.name for ending in run.outcome.others] == ["worker:2"]


DRAINED = "worker:0 was ended by its node, which the operator is draining on host-of-o1"


def test_a_drained_agent_is_named_before_its_runner_has_told_of_the_end():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_KILLING", reason=DRAINING)
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert str(run.outcome.error) == DRAINED
    assert (run.outcome.exit_code, run.outcome.cause.tail) == (75, ("last words",))


def test_a_drained_agent_is_named_although_its_runner_was_faster_to_tell():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert run.outcome is None
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Terminated", DRAINING)
    assert str(run.outcome.error) == DRAINED
    assert run.outcome.cause.tail == ("last words",)


def test_a_task_that_its_agent_ended_is_told_of_even_if_mesos_says_nothing():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    run.wait(EVICTION_REASON)
    assert str(run.outcome.error).startswith("worker:0 was ended by its node: it was killed by")


def test_a_task_of_a_drained_agent_is_worth_a_restart_elsewhere():
    run = Run(workers(1), restarts=RestartPolicy(after_start="task", codes=frozenset())).up()
    run.update("worker:0", "TASK_KILLING", reason=DRAINING)
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert calls.Revive() in run.wait(1)


def test_only_of_a_runner_that_answers_it_is_said_that_it_does():
    run = Run(workers(2)).up()
    (said,) = run.update("worker:0", "TASK_UNREACHABLE")
    assert said.text.endswith("is out of reach of the cluster; its runner answers")
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    (said,) = run.update("worker:1", "TASK_UNREACHABLE")
    assert said.text.endswith("is out of reach of the cluster, and its runner of the launcher")


def test_time_spent_on_launching_again_is_not_called_waiting_for_offers():
    run = Run(workers(1))
    for step in (
        run.subscribe,
        run.offer,
        lambda: run.update("worker:0", "TASK_FAILED"),
        run.offer,
        lambda: run.update("worker:0", "TASK_FAILED"),
        lambda: run.wait(1),
        run.offer,
        run.register,
        run.ready,
    ):
        run.now += 2.0
        step()
    run.exit("worker:0")
    assert run.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("launching again", 11.0),
        ("starting the tasks", 4.0),
        ("running", 0.0),
        ("stopping", 0.0),
    )


def test_a_failing_ps_fails_the_run():
    run = Run(workers(1), servers(1)).up()
    run.exit("ps:0", 1)
    run.exit("worker:0", 143)
    assert run.outcome.cause.task.name == "ps:0"


def test_a_server_that_ends_by_itself_has_failed():
    run = Run(Job("ps", 1)).up()
    run.exit("ps:0", 0)
    assert not run.outcome.ok


@pytest.mark.parametrize(
    "state", ["TASK_FAILED", "TASK_LOST", "TASK_GONE", "TASK_DROPPED", "TASK_ERROR", "TASK_KILLED"]
)
def test_a_task_that_mesos_ends_before_the_start_is_launched_again(state):
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    todo = run.update("worker:0", state, "no reason given")
    assert todo[-1] == calls.Revive() and "restart 1 of 3" in todo[0].text
    (launch,) = only(calls.Launch, run.offer())
    assert launch.seats[0][0] == "run-worker-0-2"


def test_the_runners_own_report_is_preferred_to_that_of_mesos():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FAILED", "Command exited with status 3")
    assert run.outcome is None
    run.exit("worker:0", 3)
    assert run.outcome.cause.tail == ("last words",)


def test_without_a_word_of_the_runner_mesos_is_believed_after_a_moment():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FAILED", "Command terminated with signal Killed")
    run.wait(STOPPING)
    assert str(run.outcome.error) == "worker:0 was killed by SIGKILL (signal 9) on host-of-o1"
    assert run.outcome.exit_code == 137


@pytest.mark.parametrize("status", [256, 10**30])
def test_a_status_that_no_process_can_have_never_ends_a_run_well(status):
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FINISHED", f"Command exited with status {status}")
    run.wait(STOPPING)
    assert run.outcome.exit_code == 1
    words = f"worker:0 ended (Command exited with status {status}) on host-of-o1"
    assert str(run.outcome.error) == words


def test_a_runner_that_is_lost_is_killed_and_fails_the_run():
    run = Run(workers(1)).up()
    todo = run(happened.RunnerLost(run.id("worker:0"), "connection reset"))
    assert only(calls.KillTask, todo)
    run.wait(STOPPING)
    text = "worker:0 lost touch with the launcher (connection reset) on host-of-o1"
    assert str(run.outcome.error) == text


def test_a_lost_runner_stays_the_cause_although_mesos_kills_its_task_then():
    run = Run(workers(1)).up()
    run(happened.RunnerLost(run.id("worker:0"), "nothing was heard of it for 20 s"))
    run.update("worker:0", "TASK_KILLING")
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Killed")
    assert "nothing was heard of it for 20 s" in str(run.outcome.error)


def test_a_task_that_mesos_calls_finished_before_the_start_is_launched_again():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    assert run.update("worker:0", "TASK_FINISHED")[-1] == calls.Revive()


def test_a_task_out_of_reach_may_come_back():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_UNREACHABLE")
    run.wait(UNREACHABLE_GRACE / 2)
    run.update("worker:0", "TASK_RUNNING")
    run.wait(UNREACHABLE_GRACE)
    assert run.outcome is None
    run.exit("worker:0")
    assert run.outcome.ok


def test_a_task_out_of_reach_goes_on_as_long_as_its_runner_is_heard():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_UNREACHABLE")
    run.wait(100 * UNREACHABLE_GRACE)
    assert run.outcome is None
    run(happened.RunnerLost(run.id("worker:0"), "nothing was heard of it for 20 s"))
    assert "out of reach of the cluster and of the launcher" in str(run.outcome.error)


def test_a_task_out_of_reach_that_never_registered_is_launched_again():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_UNREACHABLE")
    assert calls.Revive() in run.wait(UNREACHABLE_GRACE)
