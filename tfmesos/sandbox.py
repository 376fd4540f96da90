"""Read the end of a task's output in its sandbox, through the agent's files API.

For tasks that ended before their runner could report: a bad image, no Python on the node.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import aiohttp

from .access import authorization
from .client_answers import body_of
from .secret import Secret
from .shapes import NONSENSE, read_json, text, whole

log = logging.getLogger(__name__)

PATIENCE = 3.0  # seconds
AT_MOST = 8 * 1024  # bytes
MAX_ANSWER = 8 * AT_MOST  # bytes; a control character takes six in JSON
LINES = 20


def place(agent: str, framework_id: str, task_id: str) -> str:
    """Where to look at the sandbox of a command task."""
    return f"{agent}/files/browse?path={_directory(framework_id, task_id)}"


async def tail(
    agent: str, framework_id: str, task_id: str, credential: tuple[str, Secret] | None
) -> tuple[str, ...]:
    """The last lines of standard error; none if the agent does not tell in time."""
    path = f"{_directory(framework_id, task_id)}/stderr"
    headers = authorization(credential)
    try:
        async with asyncio.timeout(PATIENCE), _session(headers) as session:
            size = whole((await _read(session, agent, path))["offset"])
            start = max(0, size - AT_MOST)
            piece = await _read(session, agent, path, offset=start, length=AT_MOST)
            return tuple(text(piece["data"]).splitlines()[-LINES:])
    except (OSError, aiohttp.ClientError, *NONSENSE) as error:
        # Not %r: that of aiohttp shows the request, with its Authorization.
        log.debug("no sandbox of %s at %s: %s: %s", task_id, agent, type(error).__name__, error)
        return ()


def _session(headers: dict[str, str]) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        headers=headers, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
    )


async def _read(session: aiohttp.ClientSession, agent: str, path: str, **window: int) -> Any:
    query = {"path": path, **{name: str(number) for name, number in window.items()}}
    async with session.get(
        f"{agent}/files/read", params=query, raise_for_status=True, allow_redirects=False
    ) as answer:
        body = await body_of(answer, MAX_ANSWER)
    # Output that is cut anywhere, or is no text, comes as it is.
    return read_json(body.decode(errors="replace").encode())


def _directory(framework_id: str, task_id: str) -> str:
    return f"/frameworks/{framework_id}/executors/{task_id}/runs/latest"
