"""Keeps a connection to every task that cannot connect to us."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import TYPE_CHECKING

from ...errors import TFMesosError
from .listener import Listener

if TYPE_CHECKING:
    from ssl import SSLContext

log = logging.getLogger(__name__)

AT_ONCE = 32  # dials under way
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0  # seconds between two attempts for a task
GOOD = 5.0  # seconds after which a connection was a good one, and pauses start over
SAY_AFTER = 5.0  # seconds without a connection to a task
SAY_EVERY = 30.0  # seconds between two sentences, for all tasks together


class Dialer:
    """Use it in an ``async with``, inside that of the *listener*, which owns the connections.

    *dial* connects to the runner of a task; it may raise OSError or TFMesosError. *say* is called
    if a task cannot be reached for a while, with the reason.
    """

    def __init__(
        self,
        listener: Listener,
        dial: Callable[[str], Awaitable[socket.socket]],
        tls: SSLContext | None = None,
        say: Callable[[str, str], object] = lambda task_id, reason: None,
    ) -> None:
        self._listener = listener
        self._dial = dial
        self._tls = tls
        self._say = say
        self._said_at = float("-inf")
        self._room = asyncio.Semaphore(AT_ONCE)
        self._group = asyncio.TaskGroup()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Dialer:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for task_id in list(self._tasks):
            self.end(task_id)
        # An error of the body is not for the group, which would wrap it.
        own = (kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)
        await self._group.__aexit__(*own)

    def begin(self, task_id: str) -> None:
        """This task runs: keep a connection to it from now on. Repeated calls do nothing."""
        if task_id not in self._tasks:
            task = self._group.create_task(self._keep(task_id))
            self._tasks[task_id] = task
            task.add_done_callback(lambda _: self._forget(task_id, task))

    def end(self, task_id: str) -> None:
        """This task has ended, or is forgotten. Its last messages are still received."""
        task = self._tasks.pop(task_id, None)
        if task is not None:
            task.cancel()

    def _forget(self, task_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(task_id) is task:
            del self._tasks[task_id]

    async def _keep(self, task_id: str) -> None:
        pause = FIRST_PAUSE
        clock = asyncio.get_running_loop().time
        missed_since = clock()
        while self._listener.needs_connection(task_id):
            began = clock()
            try:
                await self._connect(task_id)
                missed_since = clock()
            except (OSError, TFMesosError) as error:
                reason = str(error) or type(error).__name__
                self._failed(task_id, reason, clock() - missed_since)
            if clock() - began > GOOD:
                pause = FIRST_PAUSE
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _connect(self, task_id: str) -> None:
        """Make a connection, and return when it has ended."""
        async with self._room:
            connection = await self._dial(task_id)
        if not self._listener.needs_connection(task_id):
            return connection.close()
        await self._listener.adopt(connection, self._tls)

    def _failed(self, task_id: str, reason: str, missed: float) -> None:
        log.debug("no connection to %s yet: %s", task_id, reason)
        now = asyncio.get_running_loop().time()
        if missed >= SAY_AFTER and now - self._said_at >= SAY_EVERY:
            self._said_at = now
            self._say(task_id, reason)
