"""What the run learns when Slurm ends a job, and when it asks for another one."""

from __future__ import annotations

import pytest

from tfmesos.config.job import Job
from tfmesos.core import events as tell
from tfmesos.core.actions import Finish, Kill, Place, Say, Wanted
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.errors import EVICTED
from tfmesos.launcher.deciders import Deciders

from .test_engine import WORKERS, Case, a_job, of_type
from .test_engine import case as case


@pytest.mark.parametrize(
    "state, reason, words, is_lost",
    [
        ("NODE_FAIL", "NodeDown", "a node ", True),
        ("TIMEOUT", "TimeLimit", "time limit", True),
        ("COMPLETING", "TimeLimit", "time limit", True),
        ("PREEMPTED", "None", "preempted", True),
        ("CANCELLED", "None", "cancelled", False),
        ("OUT_OF_MEMORY", "OutOfMemory", "was killed: out of memory", False),
        ("DEADLINE", "DeadLine", "deadline", False),
    ],
)
def test_an_end_by_slurm_is_told_of_each_task_with_its_restart_rule(
    case, state, reason, words, is_lost
):
    case.running()
    case(tell.TaskExited("worker:0-1", 143, f"{EVICTED}: it was killed"))
    case.tick()
    ends = of_type(case.seen(a_job(state, reason)), tell.TaskEnded)
    assert [end.task_id for end in ends] == ["worker:0-1", "worker:1-1"]
    assert all(words in end.reason and end.is_lost is is_lost for end in ends)


def test_a_cancelled_job_was_cancelled_by_somebody_if_accounting_knows_the_name(case):
    case.running()
    case(tell.TaskExited("worker:0-1", 143, f"{EVICTED}: it was killed"))
    case.tick()
    ends = of_type(case.seen(a_job("CANCELLED", cancelled_by="ada")), tell.TaskEnded)
    assert {end.reason for end in ends} == {f"{EVICTED}: its Slurm job was cancelled by ada"}


@pytest.mark.parametrize("state, is_notice", [("PREEMPTED", True), ("NODE_FAIL", False)])
def test_a_preemption_is_a_notice_to_all_tasks(case, state, is_notice):
    case.running()
    case(tell.TaskExited("worker:0-1", 0, f"{EVICTED}: it ended by itself"))
    case.tick()
    drained = of_type(case.seen(a_job(state)), tell.NodeDrained)
    assert [one.is_notice for one in drained] == [is_notice, is_notice]


def test_the_first_task_that_ended_is_reported_with_the_reason_of_slurm():
    tasks = WORKERS.replace(cmd="train").tasks
    engine, run = SlurmEngine(), Lifecycle(tasks, "run", 0.0)
    deciders = Deciders(run, engine)
    first, second = "run-worker-0-1", "run-worker-1-1"
    for event in (
        happened.SlurmFound(),
        happened.Submitted("1", "7"),
        *(tell.TaskRegistered(one, "h:1", 1, node="n1") for one in (first, second)),
        *(tell.TaskReady(one) for one in (first, second)),
        *(tell.TaskExited(one, 143, f"{EVICTED}: it was killed") for one in (second, first)),
        happened.JobsSeen((a_job("CANCELLED"),)),
    ):
        todo = deciders.handle(event, 1.0)
    (finish,) = of_type(todo, Finish)
    assert "worker:1" in str(finish.outcome.error) and "cancelled" in str(finish.outcome.error)


@pytest.mark.parametrize("state", ["CANCELLED", "DEADLINE"])
def test_a_job_that_ends_while_it_waits_is_not_submitted_again(state):
    run = Lifecycle(WORKERS.replace(cmd="train").tasks, "run", 0.0)
    deciders = Deciders(run, SlurmEngine())
    for event in (
        happened.SlurmFound(),
        happened.Submitted("1", "7"),
        happened.JobsSeen((a_job("PENDING", "Resources"),)),
        happened.JobsSeen((a_job(state),)),
    ):
        todo = deciders.handle(event, 1.0)
    (finish,) = of_type(todo, Finish)
    assert "was not started: its Slurm job" in str(finish.outcome.error)
    assert of_type(todo, do.Submit) == []


def test_a_suspended_job_is_named_once_and_its_tasks_go_on_in_another_one():
    """No step starts in it, and its script would not end."""
    case = Case(Job("worker", 1))
    case.submitted()
    case.registered("worker:0-1")
    case(tell.RunnerOutOfTouch("worker:0-1"))
    case.tick()
    assert of_type(case.seen(a_job("SUSPENDED")), Say) == [
        Say("Slurm job 7 is suspended", "warning")
    ]
    case.tick()
    assert of_type(case.seen(a_job("SUSPENDED")), Say) == []
    case(Kill("worker:0-1"))
    assert not case.engine.is_over("7")
    outputs = case(Place((Wanted("worker:0-2", case.jobs[0].tasks[0]),)))
    assert [one.job_id for one in of_type(outputs, do.CancelJob)] == ["7"]
    assert len(of_type(outputs, do.Submit)) == 1 and of_type(outputs, do.StartStep) == []


def test_a_job_that_was_resumed_is_used_again(case):
    case.running()
    case(tell.RunnerOutOfTouch("worker:0-1"))
    for state in ("SUSPENDED", "RUNNING"):
        case.tick()
        case.seen(a_job(state))
    case(tell.TaskExited("worker:1-1", 3, "exited with 3"))
    outputs = case(Place((Wanted("worker:1-2", WORKERS.tasks[1]),), others_run=True))
    assert [one.job_id for one in of_type(outputs, do.StartStep)] == ["7"]
