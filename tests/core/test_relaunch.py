"""Tasks that end before the cluster has started are launched again."""

from tests.builders import workers
from tests.replay import Run, only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.errors import CANNOT_REACH_LAUNCHER, PORT_TAKEN


def test_a_task_launched_again_does_not_keep_its_old_address():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register("worker:0")
    run.update("worker:0", "TASK_FAILED")
    run(happened.RunnerLost(run.id("worker:0"), "connection closed"))
    assert only(do.Start, run.register("worker:1")) == []
    run.offer()
    run.now += 1
    (start,) = only(do.Start, run(happened.TaskRegistered(run.id("worker:0"), "10.0.0.9:9", 9)))
    assert start.cluster["worker"][0] == "10.0.0.9:9"


def test_an_earlier_attempt_that_still_runs_is_killed():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    old = run.id("worker:0")
    run.update("worker:0", "TASK_LOST")
    run.offer()
    todo = run(mesos.TaskUpdated(old, "TASK_RUNNING", agent_id="a"))
    assert todo == [calls.KillTask(old, "a")]


def test_the_runner_of_an_attempt_that_was_given_up_is_refused_at_once():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    (given_up,) = only(do.Refuse, run.update("worker:0", "TASK_LOST"))
    assert given_up.task_id == "run-worker-0-1" != run.id("worker:0")


def test_a_task_that_never_starts_fails_the_run_with_the_words_of_mesos():
    run = Run(workers(1))
    run.subscribe()
    for _ in range(1 + RestartPolicy().limit):
        run.offer()
        run.update("worker:0", "TASK_FAILED", "Failed to pull image", "REASON_X")
        run.wait(10)
    text = "worker:0 failed (Failed to pull image; REASON_X) on host-of-o1"
    assert str(run.outcome.error) == text
    assert len(only(calls.Launch, run.log)) == 4


def test_a_task_whose_interpreter_is_not_on_its_node_is_tried_on_another_one():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    assert calls.Revive() in run.update("worker:0", "TASK_FAILED", "Command exited with status 127")


def test_a_task_whose_interpreter_is_on_no_node_is_not_tried_again():
    run = Run(workers(1), nodes_alike=True)
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_FAILED", "Command exited with status 127")
    assert str(run.outcome.error) == "worker:0 exited with 127 on host-of-o1"
    assert len(only(calls.Launch, run.log)) == 1


def test_a_server_is_prepared_as_soon_as_it_registers():
    run = Run(Job("ps", 2))
    run.subscribe()
    run.offer()
    assert [a.task_id for a in only(do.Prepare, run.register("ps:0"))] == ["run-ps-0-1"]


def test_a_task_that_cannot_serve_fails_the_run_at_once():
    run = Run(Job("ps", 2))
    run.subscribe()
    run.offer()
    run.register("ps:0")
    run.exit("ps:0", 1, "cannot serve: no TensorFlow")
    run.update("ps:1", "TASK_KILLED")
    assert str(run.outcome.error) == "ps:0 cannot serve: no TensorFlow on host-of-o1"


def test_a_runner_that_could_not_have_its_port_gets_another_attempt():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    todo = run.exit("worker:0", PORT_TAKEN, "could not have port 31000")
    assert todo[-1] == calls.Revive()


def test_a_runner_that_could_not_reach_the_launcher_is_explained():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    message = f"Command exited with status {CANNOT_REACH_LAUNCHER}"
    said, *_ = run.update("worker:0", "TASK_FAILED", message)
    assert "launcher" in said.text
