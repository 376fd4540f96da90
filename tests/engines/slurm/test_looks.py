"""What the launcher asks Slurm while a job of its run waits."""

from __future__ import annotations

import asyncio

from tfmesos.config.job import Job
from tfmesos.engines.api import Context
from tfmesos.engines.slurm import actions as do
from tfmesos.engines.slurm import driver as driver_module
from tfmesos.engines.slurm import events as happened
from tfmesos.engines.slurm.api import answers
from tfmesos.engines.slurm.api.commands import Answer
from tfmesos.engines.slurm.driver import SlurmDriver, Surroundings
from tfmesos.engines.slurm.engine import SlurmEngine
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys


class Queue:
    """Commands of a Slurm in which job 7 waits behind another one."""

    def __init__(self):
        self.listed = 0  # times

    async def run(self, name, *arguments, given="", within=0.0):
        if f"--format={answers.QUEUE_FORMAT}" in arguments:
            self.listed += 1
            return Answer(0, "5|9|main\n7|3|main\n", "")
        return Answer(0, "7|PENDING||N/A|N/A|tfmesos run 1|Priority\n", "")


def look(times):
    """The queue, and the place of job 7 at each look."""
    queue = Queue()
    seen = []

    async def main():
        context = Context(
            make_config([Job("worker", 2)], master="slurm://"),
            "run",
            print,
            str,
            lambda work: work,
            Keys({}, 1),
        )
        around = Surroundings(queue, (), list, None, happened.SlurmFound())
        driver = SlurmDriver(context, around, SlurmEngine(), seen.append, None)
        for number in range(times):
            driver.carry_out(do.Look(("7",), True))
            while len(seen) == number:  # noqa: ASYNC110
                await asyncio.sleep(0)

    asyncio.run(main())
    return queue, [job.place for looked in seen for job in looked.jobs]


def test_the_whole_queue_is_not_listed_at_each_look():
    queue, places = look(3)
    assert (queue.listed, places) == (1, [2, 2, 2])


def test_a_place_that_is_too_old_is_asked_for_again(monkeypatch):
    monkeypatch.setattr(driver_module, "PLACES_FOR", 0.0)
    queue, places = look(3)
    assert (queue.listed, places) == (3, [2, 2, 2])
