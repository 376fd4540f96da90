"""The spare job: submitted with the notice of a time limit, and used by the next generation."""

from __future__ import annotations

import subprocess

import pytest

from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.config.secret import Secret
from tfmesos.core import events as tell
from tfmesos.core.actions import Anticipate, Place, StopPlacing
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.rules import Rules
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm import script as script_module
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.engines.slurm.script import GO, script
from tfmesos.launcher.deciders import Deciders

from .test_engine import WORKERS, Case, a_job, of_type, wanted

NEXT = Place(wanted(WORKERS, attempt=2))
FIRST, SECOND = "worker:0-1", "worker:1-1"


class Leaving(Case):
    """Both tasks have been given notice of the time limit of job 7."""

    def __init__(self):
        super().__init__()
        self.submitted()
        self.registered(FIRST, SECOND)
        self.seen(a_job(ends_in=100.0))
        assert of_type(self.tick(), tell.NoticeGiven)

    def end(self):
        for task_id in (FIRST, SECOND):
            self(tell.TaskExited(task_id, 143, "was stopped"))


@pytest.fixture
def leaving():
    return Leaving()


def test_with_the_notice_a_job_for_the_next_generation_is_submitted_and_held(leaving):
    (submit,) = leaving(Anticipate(NEXT))
    assert submit.is_held
    assert [seat.task_id for step in submit.steps for seat in step.seats] == [
        "worker:0-2",
        "worker:1-2",
    ]
    leaving(happened.Submitted("2", "8"))
    assert not leaving.engine.is_over("8")


def test_the_next_generation_lets_the_spare_job_go_and_submits_no_other(leaving):
    leaving(Anticipate(NEXT))
    assert of_type(leaving(happened.Submitted("2", "8")), do.LetGo) == []
    leaving.end()
    outputs = leaving(NEXT)
    assert of_type(outputs, do.LetGo) == [do.LetGo("8", "2")]
    assert of_type(outputs, do.ReleaseJob) == [do.ReleaseJob("7")]
    assert of_type(outputs, do.Submit) == of_type(outputs, do.CancelJob) == []
    assert leaving.engine.job_ids == ("8",)
    leaving.tick()
    placed = leaving.seen(happened.Job("8", 0, "RUNNING", "None", ("n2",)))
    assert of_type(placed, tell.TasksPlaced)


def test_a_spare_job_that_has_no_number_yet_is_let_go_when_it_has_one(leaving):
    leaving(Anticipate(NEXT))
    leaving.end()
    assert of_type(leaving(NEXT), do.LetGo) == []
    outputs = leaving(happened.Submitted("2", "8"))
    assert of_type(outputs, do.LetGo) == [do.LetGo("8", "2")]


@pytest.mark.parametrize(
    "other",
    [
        Place(wanted(Job("worker", 3), attempt=2)),
        Place(wanted(Job("worker", 2, cpus=2), attempt=2)),
        Place(wanted(WORKERS, attempt=2), {"n1": 1e9}),
    ],
    ids=["more tasks", "another shape", "a node that failed"],
)
def test_another_request_cancels_the_spare_job_and_submits_its_own(leaving, other):
    leaving(Anticipate(NEXT))
    leaving(happened.Submitted("2", "8"))
    leaving.end()
    outputs = leaving(other)
    assert [one.job_id for one in of_type(outputs, do.CancelJob)] == ["8"]
    assert [one.is_held for one in of_type(outputs, do.Submit)] == [False]
    assert of_type(outputs, do.LetGo) == []


def test_a_spare_job_that_was_refused_is_submitted_again_by_the_next_generation(leaving):
    leaving(Anticipate(NEXT))
    assert leaving(happened.NotSubmitted("2", "too many jobs")) == []
    leaving.end()
    assert [one.is_held for one in of_type(leaving(NEXT), do.Submit)] == [False]


def test_a_run_that_needs_no_more_places_cancels_the_spare_job(leaving):
    leaving(Anticipate(NEXT))
    leaving(happened.Submitted("2", "8"))
    assert [one.job_id for one in of_type(leaving(StopPlacing("it ends")), do.CancelJob)] == ["8"]
    leaving(Anticipate(NEXT))
    leaving(StopPlacing("it ends"))
    assert [one.job_id for one in leaving(happened.Submitted("3", "9"))] == ["9"]


def on_nodes():
    """Both tasks run, and are about to be stopped for the next generation."""
    case = Case()
    case.running()
    (look,) = case(Anticipate(NEXT))
    assert isinstance(look, do.LookAtNodes)
    return case, look.nodes


def test_tasks_that_may_stay_in_their_job_get_no_spare_one():
    case, _ = on_nodes()
    assert case(happened.NodesSeen(())) == case(happened.NodesSeen(("other",))) == []


def test_tasks_leave_a_job_with_a_drained_node_for_a_spare_one():
    case, nodes = on_nodes()
    (submit,) = case(happened.NodesSeen(nodes[:1]))
    assert submit.is_held
    case(happened.Submitted("2", "8"))
    for task_id in (FIRST, SECOND):
        case(tell.TaskExited(task_id, 143, "was stopped"))
    (let_go,) = of_type(case(NEXT), do.LetGo)
    assert let_go.job_id == "8"


def test_what_is_known_of_nodes_when_the_next_generation_has_begun_changes_nothing():
    case, nodes = on_nodes()
    for task_id in (FIRST, SECOND):
        case(tell.TaskExited(task_id, 143, "was stopped"))
    assert of_type(case(NEXT), do.StartStep)
    assert case(happened.NodesSeen(nodes)) == []


@pytest.mark.parametrize("policy, spares", [("all", 1), ("task", 0)])
def test_a_run_asks_for_the_spare_job_if_there_will_be_a_next_generation(policy, spares):
    tasks = WORKERS.replace(cmd="train").tasks
    rules = Rules(restarts=RestartPolicy(after_start=policy))
    deciders = Deciders(Lifecycle(tasks, "run", 0.0, rules), SlurmEngine())
    ids = ["run-worker-0-1", "run-worker-1-1"]
    for event in (
        happened.SlurmFound(),
        happened.Submitted("1", "7"),
        *(tell.TaskRegistered(one, "h:1", 1, node="n1") for one in ids),
        *(tell.TaskReady(one) for one in ids),
        happened.JobsSeen((a_job(ends_in=100.0),)),
    ):
        deciders.handle(event, 1.0)
    outputs = deciders.handle(tell.Ticked(), 90.0)
    assert [one.is_held for one in of_type(outputs, do.Submit)] == [True] * spares
    for one in ids:
        outputs = deciders.handle(tell.TaskExited(one, 143, "was stopped"), 91.0)
    assert of_type(outputs, do.Submit) == []
    outputs = deciders.handle(happened.Submitted("2", "8"), 92.0)
    assert of_type(outputs, do.LetGo) == [do.LetGo("8", "2")] * spares


def test_the_script_of_a_spare_job_waits_before_its_steps():
    case = Case()
    (submit,) = of_type(case.place(), do.Submit)
    told = {seat.task_id: ("settings", Secret("s")) for seat in submit.steps[0].seats}
    words = ({FIRST: []}, {FIRST: "true"}, told, "tfmesos run 1", 600.0)
    held, free = (script(submit.steps, *words, hold=hold) for hold in (15.0, None))
    assert held.index(GO) < held.index(f"run {FIRST}")
    assert '"$held" -lt 615' in held
    assert GO not in free


class Commands:
    """A directory of Slurm's commands: squeue says this, and srun leaves word of its start."""

    def __init__(self, directory, comment):
        self._started = directory / "started"
        self._write(directory / "squeue", f"echo '{comment}'")
        self._write(directory / "srun", f"touch {self._started}")

    def _write(self, path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    @property
    def has_started(self):
        return self._started.exists()


@pytest.mark.parametrize("end, starts", [(GO, True), ("", False)])
def test_a_spare_job_starts_its_steps_only_if_it_is_let_go(tmp_path, monkeypatch, end, starts):
    commands = Commands(tmp_path, f"tfmesos run 1{end}")
    monkeypatch.setattr(script_module, "PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(script_module, "LINGER", 1.0)
    (submit,) = of_type(Case(Job("worker", 1)).place(), do.Submit)
    told = {FIRST: ("settings", Secret("s"))}
    text = script(submit.steps, {FIRST: []}, {FIRST: "true"}, told, "tfmesos run 1", hold=0.0)
    done = subprocess.run(["sh"], input=text, env={"SLURM_JOB_ID": "8"}, text=True)
    assert (done.returncode, commands.has_started) == (0, starts)
