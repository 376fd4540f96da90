"""Ends the tasks of a run when only its keys are left."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from ..config.job import Task
from ..config.launch_config import LaunchConfig
from ..config.secret import Secret
from ..engines.api import Context
from ..engines.plugins import plugin_of
from ..errors import EngineError, TFMesosError
from .deciders import Beginning
from .keys import Keys
from .past import CannotTakeOver

T = TypeVar("T")

BEGIN_WITHIN = 0.1  # seconds for a driver to look for its engine
END_WITHIN = 20.0  # seconds for the engine to end the tasks of the run
ALREADY_GONE = "removed"  # what an engine says about a run that it has ended itself


def end_tasks(config: LaunchConfig, run_id: str, keys: Keys) -> None:
    """Have the engine end everything that belongs to the run. Raises TFMesosError."""
    asyncio.run(_end(config, run_id, keys))


async def _end(config: LaunchConfig, run_id: str, keys: Keys) -> None:
    events: list[Any] = []
    refusals: list[str] = []
    warnings: list[str] = []

    def say(text: str, level: str) -> None:
        if level == "warning":
            warnings.append(text)

    if other := await keys.other_holder(run_id):
        raise CannotTakeOver(f"the run is held by {other}")
    context = Context(config, run_id, say, str, _wait, keys, refusals.append)
    setup = plugin_of(config.engine.name).new_setup(context)
    engine = Beginning.of(config, run_id, 0.0, None, 0).engine()
    async with AsyncExitStack() as stack:
        await setup.open(stack, asyncio.get_running_loop().time(), lambda: False)
        driver = setup.driver(engine, events.append, _expects_nobody)
        running = asyncio.ensure_future(driver.run())
        await asyncio.sleep(BEGIN_WITHIN)
        warnings.clear()
        await driver.leave(END_WITHIN)
        running.cancel()
        await asyncio.wait([running])
    if refusals:
        raise CannotTakeOver(refusals[0])
    for event in events:
        error = getattr(event, "error", None)
        if isinstance(error, TFMesosError) and ALREADY_GONE not in str(error):
            raise error
    if warnings:  # of what could not be ended
        raise EngineError(warnings[0])


async def _wait(work: Coroutine[Any, Any, T]) -> T:
    return await work


def _expects_nobody(
    task_id: str, task: Task, port: int | None = None, gpu_ids: Sequence[str] = ()
) -> tuple[str, Secret]:
    raise AssertionError("nothing is launched any more")
