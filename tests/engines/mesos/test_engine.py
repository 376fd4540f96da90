"""What a run makes of what Mesos says of its tasks and agents."""

import pytest

from tests.builders import workers
from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import EVICTION_REASON, UNREACHABLE_GRACE
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.task_reasons import DRAINING
from tfmesos.errors import DRAINED, EVICTED, LAUNCHER_LOST, RUNNER_EXITS

from .offers import an_offer
from .run import Run

STOPPING = KILL_GRACE + STOP_MARGIN


def launched(**rules):
    run = Run(workers(1), **rules)
    run.subscribe()
    run.offer()
    return run


@pytest.mark.parametrize(
    "state",
    [
        *("TASK_FAILED", "TASK_LOST", "TASK_GONE", "TASK_DROPPED", "TASK_ERROR", "TASK_KILLED"),
        "TASK_FINISHED",
    ],
)
def test_a_task_that_mesos_ends_before_the_start_is_launched_again(state):
    run = launched()
    todo = run.update("worker:0", state, "no reason given")
    assert todo[-1] == calls.Revive() and "restart 1 of 3" in todo[0].text
    (launch,) = only(calls.Launch, run.offer())
    assert launch.seats[0][0] == "run-worker-0-2"


def test_an_earlier_attempt_that_still_runs_is_killed_where_it_is():
    run = launched()
    old = run.id("worker:0")
    run.update("worker:0", "TASK_LOST")
    run.offer()
    todo = run(mesos.TaskUpdated(old, "TASK_RUNNING", agent_id="a"))
    assert todo == [calls.KillTask(old, "a")]


def test_a_task_that_never_starts_fails_the_run_with_the_words_of_mesos():
    run = launched()
    for _ in range(1 + RestartPolicy().limit):
        run.update("worker:0", "TASK_FAILED", "Failed to pull image", "REASON_X")
        run.wait(10)
        run.offer()
    assert "Failed to pull image; REASON_X" in str(run.outcome.error)
    assert len(only(calls.Launch, run.log)) == 4


def test_a_task_whose_interpreter_is_on_no_node_is_not_tried_again():
    run = launched(nodes_alike=True)
    run.update("worker:0", "TASK_FAILED", "Command exited with status 127")
    assert run.outcome.exit_code == 127 and len(only(calls.Launch, run.log)) == 1


def test_a_task_that_lost_the_launcher_is_explained():
    run = Run(workers(1)).up()
    run(happened.RunnerOutOfTouch(run.id("worker:0")))
    run.update("worker:0", "TASK_FAILED", f"Command exited with status {LAUNCHER_LOST}")
    run.wait(STOPPING)
    assert RUNNER_EXITS[LAUNCHER_LOST] in str(run.outcome.error)


def test_without_a_word_of_the_runner_mesos_is_believed_after_a_moment():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FAILED", "Command terminated with signal Killed")
    assert run.outcome is None
    run.wait(STOPPING)
    assert "SIGKILL" in str(run.outcome.error) and run.outcome.exit_code == 137


@pytest.mark.parametrize("status", [256, 10**30])
def test_a_status_that_no_process_can_have_never_ends_a_run_well(status):
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FINISHED", f"Command exited with status {status}")
    run.wait(STOPPING)
    assert run.outcome.exit_code == 1
    assert f"Command exited with status {status}" in str(run.outcome.error)


def test_a_lost_runner_stays_the_cause_although_mesos_kills_its_task_then():
    run = Run(workers(1)).up()
    todo = run(happened.RunnerLost(run.id("worker:0"), "silent for 20 s"))
    assert only(calls.KillTask, todo) == [calls.KillTask(run.id("worker:0"), "agent-of-o1")]
    run.update("worker:0", "TASK_KILLING")
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Killed")
    assert "silent for 20 s" in str(run.outcome.error)


def test_a_task_out_of_reach_may_come_back():
    run = Run(workers(1)).up()
    (said,) = run.update("worker:0", "TASK_UNREACHABLE")
    assert "worker:0" in said.text
    run.wait(UNREACHABLE_GRACE / 2)
    run.update("worker:0", "TASK_RUNNING")
    run.wait(UNREACHABLE_GRACE)
    assert run.outcome is None


def test_a_task_out_of_reach_that_never_registered_is_launched_again():
    run = launched()
    run.update("worker:0", "TASK_UNREACHABLE")
    assert calls.Revive() in run.wait(UNREACHABLE_GRACE)


def evicted(run):
    return run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")


def test_a_drained_agent_is_named_before_its_runner_has_told_of_the_end():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_KILLING", reason=DRAINING)
    evicted(run)
    assert str(run.outcome.error) == f"worker:0 {DRAINED} on host-of-o1"
    assert (run.outcome.exit_code, run.outcome.cause.tail) == (75, ("last words",))


def test_a_drained_agent_is_named_although_its_runner_was_faster_to_tell():
    run = Run(workers(1)).up()
    evicted(run)
    run.wait(EVICTION_REASON / 2)
    assert run.outcome is None
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Terminated", DRAINING)
    assert str(run.outcome.error) == f"worker:0 {DRAINED} on host-of-o1"


NO_GPU_YET = "Failed to launch container: Requested 1 gpus but only 0 available"


def test_gpus_that_an_ended_task_still_holds_are_waited_for_and_cost_no_restart():
    run = launched(restarts=RestartPolicy(limit=0))
    for pause in (1, 2, 4, 8):
        todo = run.update("worker:0", "TASK_FAILED", NO_GPU_YET, "REASON_CONTAINER_LAUNCH_FAILED")
        (said,) = only(do.Say, todo)
        assert NO_GPU_YET in said.text and f"in {pause} s" in said.text
        assert calls.Revive() in run.wait(pause)
        run.offer()
    run.register()
    run.ready()
    run.exit("worker:0")
    assert run.outcome.ok


def test_an_agent_that_is_still_freeing_gpus_is_not_left_alone():
    run = Run(workers(1))
    run.subscribe()
    run.offer(an_offer("o1", agent="a"))
    run.update("worker:0", "TASK_FAILED", NO_GPU_YET)
    run.wait(1)
    run.offer(an_offer("o2", agent="a"), an_offer("o3", agent="b"))
    run.update("worker:0", "TASK_FAILED", NO_GPU_YET)
    run.wait(2)
    (launch,) = only(calls.Launch, run.offer(an_offer("o4", agent="a")))
    assert launch.agent_id == "a"
