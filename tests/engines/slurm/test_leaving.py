"""The end of a run: its jobs are ended although other commands of Slurm do not answer."""

from __future__ import annotations

import asyncio

import pytest

from tfmesos.config.job import Job
from tfmesos.core.actions import Place, StopPlacing
from tfmesos.engines.api import Context
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.commands import Answer
from tfmesos.engines.slurm.driver import SlurmDriver, Surroundings
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

from .test_engine import wanted

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


@pytest.mark.parametrize("within", [0.0, 0.1])
def test_a_command_that_does_not_answer_does_not_keep_the_job_from_being_cancelled(within):
    slurm, said = SlurmThatStalls(), []

    async def main():
        config = make_config([Job("worker", 1)], master="slurm://")
        context = Context(config, "run", lambda *words: said.append(words), str, None, Keys({}, 1))
        around = Surroundings(slurm, (), list, None, happened.SlurmFound())
        engine = SlurmEngine()
        driver = SlurmDriver(context, around, engine, lambda event: None, None)
        begun = (happened.SlurmFound(), Place(wanted(Job("worker", 1))))
        for event in (*begun, happened.Submitted("1", "7")):
            engine.handle(event, 0.0)
            driver.recall(event, ())
        driver.carry_out(do.CancelStep("7", "tfmesos-worker-0-1"))
        while not slurm.is_stalled:  # noqa: ASYNC110
            await asyncio.sleep(0)
        await driver.leave(within)
        assert not slurm.is_stalled

    asyncio.run(main())
    assert slurm.cancelled == ["7.0", "7"]
    assert said == []


def test_a_job_whose_number_came_after_the_run_had_ended_is_cancelled():
    """Its script starts tasks yet; it would not, if it were only asked to end."""
    engine = SlurmEngine()
    begun = (happened.SlurmFound(), Place(wanted(Job("worker", 1))))
    for event in (*begun, StopPlacing("interrupted"), happened.Submitted("1", "7")):
        engine.handle(event, 0.0)
    assert not engine.is_over("7")
