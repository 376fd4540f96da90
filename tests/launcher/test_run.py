"""Whatever ends a run, its engine is left in order."""

from __future__ import annotations

import asyncio

import pytest

from tests.bounds import HANG
from tests.builders import workers
from tests.core.run import Run as Replayed
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.launcher.run import Run


class Screen:
    """A console on which nothing is shown."""

    is_live = False

    def say(self, text, level="notice"):
        pass

    def show(self, live):
        pass


class Driver:
    def __init__(self, breaks):
        self.log, self._breaks, self.has_begun = [], breaks, asyncio.Event()

    async def run(self):
        self.log.append("began")
        self.has_begun.set()
        try:
            if self._breaks:
                raise RuntimeError("the driver is broken")
            await asyncio.Event().wait()
        finally:
            self.log.append("ended")

    async def leave(self, within):
        await asyncio.sleep(0)
        self.log.append("left")


def a_run(driver):
    run = Run(LaunchConfig((workers(1),)), Screen(), "abcd")
    replayed = Replayed(workers(1))
    run._lifecycle, run._deciders, run._driver = replayed.state, replayed.deciders, driver
    return run


async def lived(run, work=None):
    async with asyncio.timeout(HANG):
        living = asyncio.create_task(run._live())
        await run._driver.has_begun.wait()
        if work is not None:
            work(living)
        await living


async def broken():
    raise RuntimeError("work beside the run is broken")


def test_an_engine_whose_driver_breaks_is_left_all_the_same():
    driver = Driver(breaks=True)
    with pytest.raises(ExceptionGroup):
        asyncio.run(lived(a_run(driver)))
    assert driver.log == ["began", "ended", "left"]


def test_an_engine_is_left_while_its_driver_runs_if_anything_else_breaks():
    driver = Driver(breaks=False)
    run = a_run(driver)
    with pytest.raises(ExceptionGroup):
        asyncio.run(lived(run, lambda living: run._beside(broken())))
    assert driver.log == ["began", "left", "ended"]


def test_an_engine_is_left_when_its_run_is_cancelled():
    driver = Driver(breaks=False)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(lived(a_run(driver), lambda living: living.cancel()))
    assert driver.log == ["began", "left", "ended"]
