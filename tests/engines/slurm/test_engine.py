"""What the Slurm engine decides: submit, look, start a step again, and say how tasks ended."""

from __future__ import annotations

import pytest

from tfmesos.config.job import Job
from tfmesos.core import events as tell
from tfmesos.core.actions import Kill, Place, PreviousPlace, StopPlacing, Wanted
from tfmesos.core.events import Ticked
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.engines.slurm.looks import LOOK_EVERY
from tfmesos.errors import CANNOT_REACH_LAUNCHER


def wanted(*jobs, attempt=1, previous_place=None):
    return tuple(
        Wanted(f"{task.name}-{attempt}", task, previous_place) for job in jobs for task in job.tasks
    )


def of_type(outputs, kind):
    return [one for one in outputs if isinstance(one, kind)]


def a_job(state="RUNNING", reason="None", nodes=("n1",), **more):
    return happened.Job("7", 0, state, reason, nodes, **more)


WORKERS = Job("worker", 2)


class Case:
    """An engine that has found Slurm, and short words for what can happen."""

    def __init__(self, *jobs, **rules):
        self.engine = SlurmEngine(**rules)
        self.now = 0.0
        self.jobs = jobs or (WORKERS,)
        given = happened.Component(("n1", "n2"), 4, 0)
        found = happened.SlurmFound((given,)) if rules else happened.SlurmFound()
        assert self(found) == [tell.EngineReady()]

    def __call__(self, event):
        return list(self.engine.handle(event, self.now))

    def place(self):
        return self(Place(wanted(*self.jobs)))

    def submitted(self):
        self.place()
        return self(happened.Submitted("1", "7"))

    def registered(self, *names, node="n1"):
        return [o for name in names for o in self(tell.TaskRegistered(name, "h:1", 1, node=node))]

    def running(self):
        """Both tasks are in touch, and the job has been looked at."""
        self.submitted()
        self.registered("worker:0-1", "worker:1-1")
        self(happened.JobsSeen((a_job(),)))

    def tick(self):
        self.now = max(self.now, self.engine.deadline)
        return self(Ticked())

    def seen(self, *jobs, gone=()):
        return self(happened.JobsSeen(jobs, gone))


@pytest.fixture
def case():
    return Case()


def test_jobs_of_one_shape_share_a_component_and_others_have_their_own():
    case = Case(Job("ps", 1), Job("worker", 2), Job("chief", 1, cpus=4))
    (submit,) = of_type(case.place(), do.Submit)
    names = [[seat.task.name for seat in step.seats] for step in submit.steps]
    assert names == [["ps:0", "worker:0", "worker:1"], ["chief:0"]]
    assert [step.group for step in submit.steps] == [0, 1]


def test_each_task_with_a_gpu_has_a_step_of_its_own_in_one_component():
    (submit,) = of_type(Case(Job("worker", 2, gpus=1)).place(), do.Submit)
    assert [(len(step.seats), step.group) for step in submit.steps] == [(1, 0), (1, 0)]


def test_the_same_request_again_submits_nothing(case):
    case.submitted()
    assert of_type(case.place(), do.Submit) == []


def test_a_waiting_job_is_looked_at_every_two_seconds_and_its_reason_is_told(case):
    case.submitted()
    assert case.engine.deadline == LOOK_EVERY
    assert case.tick() == [do.Look(("7",), True)]
    assert case.engine.deadline is None
    (told,) = case.seen(a_job("PENDING", "Priority", (), place=3, starts_in=90.0))
    assert isinstance(told, tell.Waiting)
    for part in ("job 7", "number 3", "Priority", "0:01:30"):
        assert part in told.reason
    assert case.engine.deadline == 2 * LOOK_EVERY


@pytest.mark.parametrize("reason", ["PartitionConfig", "PartitionNodeLimit", "InvalidAccount"])
def test_what_can_never_run_is_impossible_at_once(case, reason):
    case.submitted()
    (told,) = case.seen(a_job("PENDING", reason, ()))
    assert isinstance(told, tell.Impossible) and reason in told.reason


def test_a_runner_that_registers_has_the_place_that_it_names(case):
    case.submitted()
    placed = tell.TasksPlaced((tell.Placed("worker:0-1", "n2", "n2"),))
    assert case.registered("worker:0-1", node="n2") == [placed]


def test_a_task_that_fails_before_it_registers_had_a_place_and_can_be_placed_again(case):
    case.submitted()
    (place,) = of_type(case(tell.TaskExited("worker:0-1", 1, "failed its check")), tell.TasksPlaced)
    assert [one.task_id for one in place.places] == ["worker:0-1"]
    case.registered("worker:1-1")
    again = case(Place(wanted(Job("worker", 1), attempt=2)))
    assert [step.job_id for step in of_type(again, do.StartStep)] == ["7"]


def test_nobody_looks_while_all_links_live(case):
    case.running()
    assert case.engine.deadline is None


def test_a_runner_out_of_touch_has_its_job_looked_at(case):
    case.running()
    assert case(tell.RunnerOutOfTouch("worker:0-1")) == []
    assert case.tick() == [do.Look(("7",), False)]
    case.seen(a_job())
    assert case.engine.deadline is not None
    case(tell.RunnerBack("worker:0-1"))
    case.tick()
    case.seen(a_job())
    assert case.engine.deadline is None


def test_a_job_that_completes_without_a_reason_is_looked_at_again(case):
    case.running()
    case(tell.RunnerOutOfTouch("worker:0-1"))
    case.tick()
    assert case.seen(a_job("COMPLETING")) == []
    assert case.engine.deadline is not None


def test_a_job_that_slurm_has_forgotten_is_gone_with_its_tasks(case):
    case.running()
    case(tell.RunnerLost("worker:0-1", "silent"))
    case.tick()
    ends = of_type(case.seen(gone=("7",)), tell.TaskEnded)
    assert [end.is_lost for end in ends] == [True, True]


def test_links_that_live_know_better_than_a_controller_that_has_forgotten_the_job(case):
    case.submitted()
    case.registered("worker:0-1", "worker:1-1")
    assert case.seen(gone=("7",)) == []
    assert case.engine.deadline is None
    case(tell.RunnerLost("worker:0-1", "silent"))
    case.tick()
    assert len(of_type(case.seen(gone=("7",)), tell.TaskEnded)) == 2


def test_a_job_that_is_back_in_the_queue_is_cancelled_and_its_tasks_are_lost(case):
    case.running()
    case(tell.RunnerOutOfTouch("worker:0-1"))
    case.tick()
    outputs = case.seen(a_job("PENDING", "BeginTime", ()))
    assert of_type(outputs, do.CancelJob)[0].job_id == "7"
    assert all(end.is_lost for end in of_type(outputs, tell.TaskEnded))


def test_a_step_that_ended_badly_before_its_tasks_reported_ends_them(case):
    case.submitted()
    note = ("worker:0-1", 127, "python: not found")
    outputs = case.seen(a_job(ended_steps=(note,)))
    ends = of_type(outputs, tell.TaskEnded)
    assert [(end.task_id, end.code) for end in ends] == [("worker:0-1", 127), ("worker:1-1", 127)]
    assert of_type(outputs, tell.TasksPlaced)


def test_a_task_that_is_started_again_has_a_step_at_its_old_place(case):
    case.running()
    case(tell.TaskExited("worker:1-1", 3, "exited with 3"))
    again = Wanted("worker:1-2", WORKERS.tasks[1], PreviousPlace("n1", 4711, 60.0))
    placed, start = case(Place((again,), others_run=True))
    assert placed == tell.TasksPlaced((tell.Placed("worker:1-2", "n1", "n1"),))
    assert (start.job_id, start.step.node) == ("7", "n1")
    assert [seat.port for seat in start.step.seats] == [4711]


def test_a_task_that_must_leave_the_only_node_of_its_job_has_a_new_job(case):
    case.running()
    case(tell.TaskExited("worker:1-1", 3, "exited with 3"))
    again = Wanted("worker:1-2", WORKERS.tasks[1])
    (submit,) = of_type(case(Place((again,), {"n1": 99.0}, True)), do.Submit)
    assert [step.avoid for step in submit.steps] == [("n1",)]


@pytest.mark.parametrize("squeue", ["has not answered", "knows both nodes"])
def test_the_node_that_a_runner_names_when_it_ends_early_is_the_one_that_is_left_alone(squeue):
    case = Case()
    case.submitted()
    if squeue == "knows both nodes":
        case.seen(a_job(nodes=("n1", "n2")))
    unfit = tell.TaskExited("worker:0-1", 220, "was not started", node="n2")
    (placed,) = of_type(case(unfit), tell.TasksPlaced)
    assert placed.places == (tell.Placed("worker:0-1", "n2", "n2"),)


def test_nodes_are_avoided_only_as_long_as_others_will_do():
    case = Case(Job("worker", 1))
    avoiding = Place(wanted(*case.jobs), {"n1": 99.0})
    (first,) = of_type(case(avoiding), do.Submit)
    assert [step.avoid for step in first.steps] == [("n1",)]
    (again,) = of_type(case(happened.NotSubmitted("1", "no such nodes")), do.Submit)
    assert [step.avoid for step in again.steps] == [()]
    assert case(happened.NotSubmitted("2", "no such nodes")) == [tell.Impossible("no such nodes")]


def test_a_job_in_which_nobody_is_left_is_released_when_another_is_needed():
    case = Case(Job("worker", 1))
    case.submitted()
    case.registered("worker:0-1")
    case(tell.TaskExited("worker:0-1", 3, "exited with 3"))
    again = Wanted("worker:0-2", case.jobs[0].tasks[0])
    outputs = case(Place((again,), {"n1": 99.0}))
    assert of_type(outputs, do.ReleaseJob) == [do.ReleaseJob("7")]


def test_a_job_that_may_start_tasks_again_which_reached_no_launcher_is_cancelled_not_released():
    """Its script does not end before they do."""
    case = Case(Job("worker", 1))
    case.submitted()
    case.seen(a_job(ended_steps=(("worker:0-1", CANNOT_REACH_LAUNCHER, "cannot be reached"),)))
    assert not case.engine.is_over("7")
    again = Wanted("worker:0-2", case.jobs[0].tasks[0])
    outputs = case(Place((again,), {"n1": 99.0}))
    assert [one.job_id for one in of_type(outputs, do.CancelJob)] == ["7"]
    assert of_type(outputs, do.ReleaseJob) == []


def test_a_killed_task_is_ended_and_its_step_when_nobody_is_left_in_it(case):
    case.running()
    (killed,) = case(Kill("worker:0-1"))
    assert killed.was_killed
    cancel, _ = case(Kill("worker:1-1"))
    assert cancel == do.CancelStep("7", "worker:0-1")


def test_a_job_that_waits_for_nobody_is_cancelled_also_if_it_has_no_number_yet(case):
    case.place()
    assert case(StopPlacing("the run ends")) == []
    (cancel,) = case(happened.Submitted("1", "7"))
    assert cancel.job_id == "7"


def test_a_refused_job_is_impossible(case):
    case.place()
    (told,) = case(happened.NotSubmitted("1", "Slurm refuses the job"))
    assert told == tell.Impossible("Slurm refuses the job")


def test_a_controller_that_does_not_answer_is_told_and_asked_again(case):
    case.submitted()
    case.tick()
    (told,) = case(happened.JobsUnseen("Slurm: Connection refused"))
    assert "Connection refused" in told.reason and case.engine.deadline is not None


# Time limits


def test_before_the_time_limit_of_a_job_all_tasks_get_a_notice_and_then_another_job(case):
    case.submitted()
    case.registered("worker:0-1", "worker:1-1")
    case.seen(a_job(ends_in=100.0))
    assert case.engine.deadline == 85.0
    (notice,) = of_type(case.tick(), tell.NoticeGiven)
    assert notice.is_time_limit and notice.may_go_on
    assert "job 7" in notice.reason and "0:00:15" in notice.reason
    for task_id in ("worker:0-1", "worker:1-1"):
        case(tell.TaskExited(task_id, 143, "was stopped"))
    outputs = case(Place(wanted(WORKERS, attempt=2)))
    assert len(of_type(outputs, do.Submit)) == 1 and of_type(outputs, do.StartStep) == []
    assert of_type(outputs, do.ReleaseJob) == [do.ReleaseJob("7")]


def test_a_limit_that_leaves_no_time_for_a_notice_gives_none(case):
    case.submitted()
    case.registered("worker:0-1", "worker:1-1")
    case.seen(a_job(ends_in=10.0))
    assert case.engine.deadline is None


def test_the_limit_of_an_allocation_that_is_not_ours_ends_the_run():
    case = Case(Job("worker", 1), allocation="9")
    case.place()
    case.registered("worker:0-1")
    case.seen(happened.Job("9", 0, "RUNNING", "None", ("n1",), ends_in=100.0))
    (notice,) = of_type(case.tick(), tell.NoticeGiven)
    assert not notice.may_go_on


def test_a_job_is_over_when_its_last_task_has_ended(case):
    case.running()
    assert not case.engine.is_over("7")
    case(tell.TaskExited("worker:0-1", 0, "exited with 0"))
    case(tell.TaskExited("worker:1-1", 0, "exited with 0"))
    assert case.engine.is_over("7")
