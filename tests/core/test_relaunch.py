"""Tasks that end before the cluster has started are launched again."""

import pytest

from tests.builders import workers
from tests.replay import only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import UNREACHABLE_GRACE
from tfmesos.engines.local import events as local
from tfmesos.errors import CANNOT_REACH_LAUNCHER, PORT_TAKEN, RUNNER_EXITS

from .restart_policies import said
from .run import HOST, Run, ended, started

AGAIN = ["run-worker-0-2"]


def placed(*jobs, **rules):
    run = Run(*jobs or [workers(1)], **rules)
    run.place()
    return run


@pytest.mark.parametrize(
    "how", [{"code": 0}, {"code": 1}, {"is_lost": True}, {"was_killed": True}, {"code": 127}]
)
def test_a_task_that_ends_before_the_start_is_launched_again_however_it_ends(how):
    todo = placed().gone("worker:0", **how)
    assert "restart 1 of 3" in said(todo)[0] and started(todo) == AGAIN


def test_a_task_launched_again_does_not_keep_its_old_address():
    run = placed(workers(2))
    run.register("worker:0")
    run.gone("worker:0")
    assert started(run(happened.RunnerLost(run.id("worker:0"), "connection closed"))) == AGAIN
    assert only(do.Start, run.register("worker:1")) == []
    (start,) = only(do.Start, run(happened.TaskRegistered(run.id("worker:0"), "10.0.0.9:9", 9)))
    assert start.cluster["worker"][0] == "10.0.0.9:9"


def test_an_earlier_attempt_that_still_runs_is_killed():
    run = placed()
    old = run.id("worker:0")
    run.gone("worker:0", is_lost=True)
    assert ended(run(local.TaskStarted(old))) == [old]


def test_the_runner_of_an_attempt_that_was_given_up_is_refused_at_once():
    run = placed()
    (given_up,) = only(do.Refuse, run.gone("worker:0", is_lost=True))
    assert given_up.task_id == "run-worker-0-1" != run.id("worker:0")


def test_a_task_that_never_starts_fails_the_run_with_the_words_of_its_engine():
    run = placed()
    for _ in range(1 + RestartPolicy().limit):
        run.gone("worker:0", reason="failed (no image)")
        run.wait(10)
    assert str(run.outcome.error) == f"worker:0 failed (no image) on {HOST}"
    assert len(started(run.log)) == 4


def test_a_task_whose_interpreter_is_on_no_node_is_not_tried_again():
    run = placed(nodes_alike=True)
    run.gone("worker:0", 127)
    assert str(run.outcome.error) == f"worker:0 exited with 127 on {HOST}"
    assert len(started(run.log)) == 1


def test_a_server_is_prepared_as_soon_as_it_registers():
    run = placed(Job("ps", 2))
    assert [a.task_id for a in only(do.Prepare, run.register("ps:0"))] == ["run-ps-0-1"]


def test_a_task_that_cannot_serve_fails_the_run_at_once():
    run = placed(Job("ps", 2))
    run.register("ps:0")
    run.exit("ps:0", 1, "cannot serve: no TensorFlow")
    run.gone("ps:1", was_killed=True)
    assert str(run.outcome.error) == f"ps:0 cannot serve: no TensorFlow on {HOST}"


def test_a_runner_that_could_not_have_its_port_gets_another_attempt():
    assert started(placed().exit("worker:0", PORT_TAKEN, "could not get port 31000")) == AGAIN


def test_a_runner_that_could_not_reach_the_launcher_is_explained():
    (text,) = said(placed().gone("worker:0", CANNOT_REACH_LAUNCHER))
    assert RUNNER_EXITS[CANNOT_REACH_LAUNCHER] in text


def test_a_task_out_of_reach_that_never_registered_is_launched_again():
    run = placed()
    run(happened.TaskUnreachable(run.id("worker:0")))
    assert started(run.wait(UNREACHABLE_GRACE - 1)) == []
    assert started(run.wait(1)) == AGAIN


def test_time_spent_on_launching_again_is_not_called_waiting_for_places():
    run = Run(workers(1, gpus=1))
    for step in (
        run.place,
        lambda: run(local.GpusTaken(("0",))),
        lambda: run.gone("worker:0"),
        lambda: run.gone("worker:0"),
        lambda: run.wait(0),  # its second pause is over
        run.register,
        run.ready,
    ):
        run.now += 2.0
        step()
    run.exit("worker:0")
    assert run.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("launching again", 6.0),
        ("starting the tasks", 4.0),
        ("running", 0.0),
        ("stopping", 0.0),
    )
