"""The end of a run: its jobs are ended although other commands of Slurm do not answer."""

from __future__ import annotations

import asyncio

import pytest

from tests.bounds import HANG
from tfmesos.config.job import Job
from tfmesos.config.secret import Secret
from tfmesos.core.actions import Place, StopPlacing
from tfmesos.engines.api import Context
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm import job_ends
from tfmesos.engines.slurm.api.commands import Answer
from tfmesos.engines.slurm.driver import SlurmDriver, Surroundings
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

from .test_engine import of_type, wanted

RUN = "tfmesos-ab12"
LISTED = "7.0|tfmesos-worker-0-1\n"


class SlurmThatStalls:
    """Its controller lists step 7.0, and does not answer who wants to cancel it."""

    def __init__(self):
        self.cancelled = []
        self.is_stalled = False

    async def run(self, name, *arguments, given="", within=0.0):
        if name == "scancel":
            self.cancelled.append(arguments[-1])
        if arguments[-1] == "7.0":
            self.is_stalled = True
            try:
                await asyncio.sleep(1000)
            finally:
                await asyncio.sleep(0)  # the command is killed, and waited for
                self.is_stalled = False
        return Answer(0, LISTED if "--steps" in arguments else "", "")


def a_driver(slurm, said):
    config = make_config([Job("worker", 1)], master="slurm://", name="mine")
    context = Context(config, RUN, lambda *words: said.append(words), str, None, Keys({}, 1))
    around = Surroundings(slurm, (), lambda *_: ["true"], None, happened.SlurmFound())
    engine = SlurmEngine()
    told = ("settings", Secret("s"))
    driver = SlurmDriver(context, around, engine, lambda event: None, lambda *_: told)
    return engine, driver


async def until(is_true):
    while not is_true():  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.mark.parametrize("within", [0.0, 0.1])
def test_a_command_that_does_not_answer_does_not_keep_the_job_from_being_cancelled(within):
    slurm, said = SlurmThatStalls(), []

    async def main():
        engine, driver = a_driver(slurm, said)
        begun = (happened.SlurmFound(), Place(wanted(Job("worker", 1))))
        for event in (*begun, happened.Submitted("1", "7")):
            engine.handle(event, 0.0)
            driver.recall(event, ())
        driver.carry_out(do.CancelStep("7", "tfmesos-worker-0-1"))
        await until(lambda: slurm.is_stalled)
        await driver.leave(within)
        assert not slurm.is_stalled

    asyncio.run(main())
    assert slurm.cancelled == ["7.0", "7"]
    assert said == []


class Step:
    """An srun that lasts."""

    returncode = None

    async def communicate(self):
        await asyncio.sleep(1000)


class SlurmThatAcceptsSlowly:
    """Its sbatch does not answer until it may; these are its jobs, or squeue does not answer."""

    def __init__(self, jobs):
        self._jobs = jobs
        self.may_answer = asyncio.Event()
        self.is_asked = False
        self.listings = 0
        self.cancelled = []

    async def start(self, name, arguments, given):
        return Step()

    async def run(self, name, *arguments, given="", within=0.0):
        if name == "scancel":
            self.cancelled.append(arguments[-1])
        if name == "sbatch":
            self.is_asked = True
            await self.may_answer.wait()
            return Answer(0, "9\n", "")
        if name == "squeue":
            self.listings += 1
            if self._jobs is None:
                return Answer(1, "", "squeue: error: Unable to contact slurm controller")
            if self.listings > 1:  # it has accepted it, in the meantime
                return Answer(0, "".join(f"{n}|{text}\n" for n, text in self._jobs.items()), "")
        return Answer(0, "", "")


def left_unanswered(jobs):
    """What is cancelled, and said, if sbatch has not answered when the run ends."""
    said = []

    async def main():
        slurm = SlurmThatAcceptsSlowly(jobs)
        engine, driver = a_driver(slurm, said)
        engine.handle(happened.SlurmFound(), 0.0)
        for action in engine.handle(Place(wanted(Job("worker", 1))), 0.0):
            driver.carry_out(action)
        await until(lambda: slurm.is_asked)
        await driver.leave(0.0)
        return slurm.cancelled

    return asyncio.run(main()), said


OTHERS = {"5": f"tfmesos {RUN}2 1", "6": "mine"}


def test_a_job_is_cancelled_that_slurm_accepted_while_its_sbatch_was_given_up():
    ours = {"8": f"tfmesos {RUN} 1"}
    assert left_unanswered({**OTHERS, **ours}) == (["8"], [])


@pytest.mark.parametrize("jobs, why", [(OTHERS, "sbatch"), (None, "Unable to contact")])
def test_a_job_that_slurm_may_accept_after_the_end_of_its_run_is_warned_of(jobs, why, monkeypatch):
    monkeypatch.setattr(job_ends, "SETTLE_WITHIN", 0.3)
    cancelled, ((text, level),) = left_unanswered(jobs)
    assert (cancelled, level) == ([], "warning")
    assert why in text and "squeue --me --name=mine" in text


def test_a_submission_is_waited_for_although_a_task_was_started_again():
    said = []

    async def main():
        slurm = SlurmThatAcceptsSlowly({})
        engine, driver = a_driver(slurm, said)
        engine.handle(happened.SlurmFound(), 0.0)
        (submit,) = of_type(engine.handle(Place(wanted(Job("worker", 1))), 0.0), do.Submit)
        driver.carry_out(do.StartStep("7", submit.steps[0], 1))
        driver.carry_out(submit)
        await until(lambda: slurm.is_asked)
        leaving = asyncio.ensure_future(driver.leave(HANG))
        for _ in range(10):
            await asyncio.sleep(0)
        slurm.may_answer.set()
        await leaving
        return slurm.cancelled

    assert asyncio.run(main()) == ["9"]
    assert said == []


def test_a_job_whose_number_came_after_the_run_had_ended_is_cancelled():
    """Its script starts tasks yet; it would not, if it were only asked to end."""
    engine = SlurmEngine()
    begun = (happened.SlurmFound(), Place(wanted(Job("worker", 1))))
    for event in (*begun, StopPlacing("interrupted"), happened.Submitted("1", "7")):
        engine.handle(event, 0.0)
    assert not engine.is_over("7")
