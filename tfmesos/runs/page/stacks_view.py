"""What the tasks of a run are doing, for a page: as ``tfrun stacks`` shows it."""

from __future__ import annotations

import asyncio
import sys

from ...http.server import Answer, text
from ..directory import RunDirectory

WITHIN = 150.0  # seconds


async def stacks_answer(run: RunDirectory) -> Answer:
    """By a process of its own: it waits for signals, which only a main thread can."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tfmesos", "stacks", run.id),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN):
            out, err = await process.communicate()
    except TimeoutError:
        return text(504, "The tasks do not answer.\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if not out:
        return text(409, err.decode("utf-8", "replace"))
    return text(200, out.decode("utf-8", "replace"))
