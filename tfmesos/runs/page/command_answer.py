"""The answer of a command of tfrun, for a page."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from ...http.server import Answer, text
from ..run_files import RunDirectory

WITHIN = 150.0  # seconds


async def command_answer(words: Sequence[str], run: RunDirectory) -> Answer:
    """By a process of its own: such a command waits for signals, which only a main thread can, or
    goes on in the background.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tfmesos",
        *words,
        run.id,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN):
            out, err = await process.communicate()
    except TimeoutError:
        return text(504, f"tfrun {words[0]} did not end in time.\n")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode and not out:
        return text(409, err.decode("utf-8", "replace"))
    return text(200, out.decode("utf-8", "replace"))
