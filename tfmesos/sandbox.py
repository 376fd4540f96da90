"""Read the end of a task's output in its sandbox, through the agent's files API.

For tasks that ended before their runner could report: a bad image, no Python on the node.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiohttp

from .access import authorization

log = logging.getLogger(__name__)

PATIENCE = 3.0  # seconds
AT_MOST = 8 * 1024  # bytes
LINES = 20


def place(agent: str, framework_id: str, task_id: str) -> str:
    """Where to look at the sandbox of a command task."""
    return f"{agent}/files/browse?path={_directory(framework_id, task_id)}"


async def tail(
    agent: str, framework_id: str, task_id: str, credential: tuple[str, str] | None
) -> tuple[str, ...]:
    """The last lines of standard error; none if the agent does not tell in time."""
    path = f"{_directory(framework_id, task_id)}/stderr"
    headers = authorization(credential)
    try:
        async with asyncio.timeout(PATIENCE), aiohttp.ClientSession(headers=headers) as session:
            size = int((await _read(session, agent, path))["offset"])
            start = max(0, size - AT_MOST)
            piece = await _read(session, agent, path, offset=start, length=AT_MOST)
    except (OSError, TimeoutError, aiohttp.ClientError, KeyError, TypeError, ValueError) as error:
        log.debug("no sandbox of %s at %s: %r", task_id, agent, error)
        return ()
    return tuple(str(piece.get("data", "")).splitlines()[-LINES:])


async def _read(
    session: aiohttp.ClientSession, agent: str, path: str, **window: int
) -> dict[str, Any]:
    query = {"path": path, **{name: str(number) for name, number in window.items()}}
    async with session.get(f"{agent}/files/read", params=query, raise_for_status=True) as answer:
        found: dict[str, Any] = await answer.json()
        return found


def _directory(framework_id: str, task_id: str) -> str:
    return f"/frameworks/{framework_id}/executors/{task_id}/runs/latest"
