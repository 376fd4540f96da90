"""What a launcher on Slurm does again of what one before it was to do, and what it does not."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from tests.bounds import HANG
from tfmesos.config.job import Job
from tfmesos.config.secret import Secret
from tfmesos.core.actions import Place
from tfmesos.engines.api import Context
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import driver as driver_module
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.api.commands import Answer
from tfmesos.engines.slurm.driver import SlurmDriver, Surroundings
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

from .test_engine import wanted

RUN = "tfmesos-ab12"


class SlurmThatLists:
    """Commands of a Slurm that has these jobs, by their numbers, with these comments."""

    def __init__(self, jobs):
        self._jobs = jobs
        self.asked = []

    async def run(self, name, *arguments, given="", within=0.0):
        self.asked.append(name)
        if name == "sbatch":
            return Answer(0, "9\n", "")
        is_marks = "--format=%i|%k" in arguments
        if name == "scontrol":
            return Answer(0, "", "")
        listed = "".join(f"{number}|{mark}\n" for number, mark in self._jobs.items())
        return Answer(0, listed if is_marks else "", "")


class TakenOver:
    """The second launcher of a run whose first one decided to submit a job, and was killed."""

    def __init__(self, jobs, *later, slurm=None):
        self.slurm = slurm or SlurmThatLists(jobs)
        self.events = []
        config = make_config([Job("worker", 2)], master="slurm://")
        self.given_away = []
        keys = Keys({}, 2)
        context = Context(config, RUN, print, str, lambda work: work, keys, self.given_away.append)
        self.engine = SlurmEngine()
        around = Surroundings(
            self.slurm, (), lambda job, config: ["true"], None, happened.SlurmFound()
        )
        self.told = []
        self.driver = SlurmDriver(context, around, self.engine, self.events.append, self._expect)
        for event in (happened.SlurmFound(), Place(wanted(Job("worker", 2))), *later):
            self.driver.recall(event, self.engine.handle(event, 0.0))

    def _expect(self, task_id, task, port=None, gpu_ids=()):
        self.told.append(task_id)
        return "settings", Secret("s")

    def until(self, is_true):
        async def main():
            running = asyncio.ensure_future(self.driver.run())
            async with asyncio.timeout(HANG):
                while not is_true():  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
            await self.driver.leave(1.0)

        asyncio.run(main())

    @property
    def submitted(self):
        return [one for one in self.events if isinstance(one, happened.Submitted)]


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(driver_module, "SETTLE_WITHIN", 0.0)


def test_a_job_whose_number_was_not_recorded_is_found_by_its_comment():
    run = TakenOver({"5": "other", "7": f"tfmesos {RUN} 1;notes", "8": f"tfmesos {RUN} 10"})
    run.until(lambda: run.submitted)
    assert run.submitted == [happened.Submitted("1", "7")]
    assert "sbatch" not in run.slurm.asked
    assert run.told == ["worker:0-1", "worker:1-1"]


def test_a_job_that_was_not_submitted_is_submitted_with_the_secrets_that_are_expected():
    run = TakenOver({})
    run.until(lambda: run.submitted)
    assert run.submitted == [happened.Submitted("1", "9")]
    assert run.told == ["worker:0-1", "worker:1-1"]


def test_the_jobs_are_looked_at_once_and_slurm_is_not_found_a_second_time():
    run = TakenOver({}, happened.Submitted("1", "7"))
    run.until(lambda: any(isinstance(one, happened.JobsSeen) for one in run.events))
    assert run.events == [happened.JobsSeen((), ("7",))]


def test_what_was_cancelled_is_cancelled_again_if_it_is_there():
    run = TakenOver({"7": f"tfmesos {RUN} 1"}, happened.Submitted("1", "7"), Place(()))
    run.until(lambda: "scancel" in run.slurm.asked)
    gone = TakenOver({}, happened.Submitted("1", "7"), Place(()))
    gone.until(lambda: gone.events)
    assert gone.engine.job_ids == run.engine.job_ids == ()


def test_a_job_that_another_launcher_holds_is_not_cancelled():
    later = {"7": f"tfmesos {RUN} 1 3 login-2 (pid 8)"}
    run = TakenOver(later, happened.Submitted("1", "7"), Place(()))
    run.until(lambda: run.given_away)
    assert "login-2 (pid 8)" in run.given_away[0]
    assert "scancel" not in run.slurm.asked


def test_a_step_is_awaited_until_its_tasks_have_registered():
    run = TakenOver({})
    assert run.engine.awaits("worker:0-1") and run.engine.is_wanted("1")
    assert not run.engine.awaits("worker:0-2") and not run.engine.is_wanted("2")


def test_a_later_step_without_an_answer_is_known_with_what_its_runner_was_told():
    past = driver_module.PastWork()
    (seat,) = (do.Seat("worker:0-2", task) for task in Job("worker", 1).tasks)
    start = do.StartStep("7", do.Step((seat,)), 1)
    told = {"worker:0-2": ("settings", Secret("s"))}
    past.decided(start, told)
    assert past.starts == {"worker:0-2": (start, told)}
    past.happened(happened.StepEnded("7", "worker:0-2", 0))
    assert past.starts == {}


class SlowSlurm:
    """Its one job waits to be let go; each command takes a while, scontrol before it changes it."""

    def __init__(self):
        self.comment = f"tfmesos {RUN} 1"

    async def run(self, name, *arguments, given="", within=0.0):
        await asyncio.sleep(0)
        if name == "scontrol":
            self.comment = arguments[-1].removeprefix("Comment=")
            return Answer(0, "", "")
        form = next(word for word in arguments if word.startswith(("-o", "--format=")))
        shown = form.replace("--format=", "").removeprefix("-o").replace("%i", "7")
        listed = shown.replace("%k", self.comment)
        await asyncio.sleep(0)
        return Answer(0, f"{listed}\n", "")


@pytest.mark.parametrize("work", [(0, 1), (1, 0)])
def test_a_job_that_is_let_go_while_it_is_looked_at_stays_so(work):
    """Each would otherwise write what it had read before the other one wrote."""
    slurm = SlowSlurm()

    async def main():
        run = TakenOver({}, happened.Submitted("1", "7"), slurm=slurm)
        actions = do.LetGo("7", "1"), do.Look(("7",), False)
        for number in work:
            run.driver.carry_out(actions[number])
        await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=HANG)

    asyncio.run(main())
    assert slurm.comment.startswith(f"tfmesos {RUN} 1 2 ") and slurm.comment.endswith(";go")
