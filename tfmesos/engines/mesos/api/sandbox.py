"""Read what a task left in its sandbox, through the agent's files API.

For tasks that ended before their runner could report: a bad image, no Python on the node; or before
all of their output was received.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ....config.secret import Secret
from ....http.client import Session
from ....http.connection import HttpError
from .auth import authorization
from .json_values import NONSENSE, read_json, text, whole

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

TAIL_TIMEOUT = 3.0  # seconds for the last lines, and for a connection
PIECE_TIMEOUT = 15.0  # seconds that an agent may take for a piece of output that is nowhere else
TAIL_BYTES = 8 * 1024
TAIL_LINES = 20
PIECE = 64 * 1024  # bytes; agents answer with no more at once
MAX_FILE = 32 * 1024 * 1024  # bytes, four times what a runner holds for its launcher
MAX_ANSWER = 8 * PIECE  # bytes; a control character takes six in JSON
# Its log, by the files of its source: I1116 14:00:59.000001 12 exec.cpp:164] Version: 1.11.0
_OF_MESOS = re.compile(r"[IWEF]\d{4} [\d:.]+\s+\d+ \S+\.[ch]pp:\d+\] ")
# What its launcher prints while it prepares a container, with filesystem/linux for example.
_OF_LAUNCHER = re.compile(
    r"Marked '.*' as rslave$|Prepared mount '|Executing pre-exec command '"
    r"|Chang(?:ing|ed) root to |Overwriting environment variable '"
)
_TREES = " to the following process trees:"  # a list of them follows, between brackets


def browse_url(agent: str, framework_id: str, task_id: str) -> str:
    """Where to look at the sandbox of a command task."""
    return f"{agent}/files/browse?path={_directory(framework_id, task_id)}"


def addresses(agent_url: str, hostname: str, master_url: str) -> list[str]:
    """The URLs to try for an agent, best first.

    A master reports http for its agents even if all of them speak TLS. Then the host name comes
    first, because certificates are issued for names.
    """
    if not master_url.startswith("https:"):
        return [agent_url]
    address = agent_url.partition("://")[2]
    return [f"https://{hostname}:{address.rpartition(':')[2]}", f"https://{address}"]


async def tail(
    agents: Sequence[str],
    framework_id: str,
    task_id: str,
    credential: tuple[str, Secret] | None,
    tls: ssl.SSLContext | None = None,
) -> tuple[str, ...]:
    """The last lines of standard error; none if the agent does not answer in time."""
    path = f"{_directory(framework_id, task_id)}/stderr"
    try:
        async with (
            asyncio.timeout(TAIL_TIMEOUT),
            Session(authorization(credential), tls, TAIL_TIMEOUT) as session,
        ):
            for agent in agents:
                try:
                    return await _end_of(session, agent, path)
                except (OSError, HttpError, *NONSENSE) as error:
                    what = type(error).__name__
                    log.debug("no sandbox of %s at %s: %s: %s", task_id, agent, what, error)
    except TimeoutError:
        log.debug("no sandbox of %s within %g s", task_id, TAIL_TIMEOUT)
    return ()


def _of_the_task(lines: list[str]) -> list[str]:
    """The lines without those that Mesos's executor and launcher write into the same file."""
    own: list[str] = []
    is_list = False
    for line in lines:
        is_of_mesos = _OF_MESOS.match(line) is not None
        if is_of_mesos or is_list:
            is_list = line.endswith(_TREES) if is_of_mesos else line != "]"
        elif not _OF_LAUNCHER.match(line):
            own.append(line)
    return own


async def whole_file(
    agents: Sequence[str], framework_id: str, task_id: str, name: str, tls: ssl.SSLContext | None
) -> str:
    """An ASCII file; empty if it is missing or too long, or the agent does not answer in time."""
    path = f"{_directory(framework_id, task_id)}/{name}"
    async with Session({}, tls, TAIL_TIMEOUT) as session:
        for agent in agents:
            try:
                return await _all_of(session, agent, path)
            except (OSError, HttpError, *NONSENSE) as error:
                what = type(error).__name__
                log.debug("no %s of %s at %s: %s: %s", name, task_id, agent, what, error)
    return ""


async def _all_of(session: Session, agent: str, path: str) -> str:
    """Only its last piece is shorter than what was asked for, so it takes no agent long."""
    pieces: list[str] = []
    for start in range(0, MAX_FILE, PIECE):
        async with asyncio.timeout(PIECE_TIMEOUT):
            found = await _read(session, agent, path, offset=start, length=PIECE)
        pieces.append(text(found["data"]))
        if len(pieces[-1]) < PIECE:
            return "".join(pieces)
    raise ValueError(f"more than {MAX_FILE} bytes")


async def _end_of(session: Session, agent: str, path: str) -> tuple[str, ...]:
    size = whole((await _read(session, agent, path))["offset"])
    start = max(0, size - TAIL_BYTES)
    piece = await _read(session, agent, path, offset=start, length=TAIL_BYTES)
    return tuple(_of_the_task(text(piece["data"]).splitlines())[-TAIL_LINES:])


async def _read(session: Session, agent: str, path: str, **window: int) -> Any:
    query = urlencode({"path": path, **window}, safe="/")
    async with await session.ask("GET", f"{agent}/files/read?{query}") as answer:
        if answer.status != 200:
            raise ValueError(f"{answer.status} {answer.reason}")
        body = await answer.body(MAX_ANSWER)
    # Output that is cut anywhere, or is not text, comes as it is.
    return read_json(body.decode(errors="replace").encode())


def _directory(framework_id: str, task_id: str) -> str:
    return f"/frameworks/{framework_id}/executors/{task_id}/runs/latest"
