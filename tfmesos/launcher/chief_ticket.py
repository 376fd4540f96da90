"""Runs kinit for the task of ``--local-chief``, as ``node/task/ticket.py`` does on a node."""

from __future__ import annotations

import asyncio
import os
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable, Mapping

from ..node.task import kerberos
from ..node.task.kerberos import RETRY_AFTER
from ..shared import process


class ChiefTicket:
    def __init__(
        self, principal: str, directory: str, env: Mapping[str, str], say: Callable[[str], None]
    ) -> None:
        self._principal = principal
        self._directory = directory
        self._say = say
        self._env = kerberos.environment(os.environ, env)
        self._renewal: asyncio.Task[None] | None = None

    async def get(self) -> process.Ending | None:
        """Get a ticket, and renew it until ``stop``; returns why there is none, if that fails."""
        problem, pause = await self._ask()
        if problem is None:
            self._renewal = asyncio.create_task(self._renew(pause))
        return problem

    def stop(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()

    async def _renew(self, pause: float) -> None:
        while True:
            await asyncio.sleep(pause)
            problem, pause = await self._ask()
            if problem is not None:
                self._say(f"{problem[1]}; the next try is in {pause:g} s")

    async def _ask(self) -> tuple[process.Ending | None, float]:
        """What is wrong, if anything, and the seconds until the next attempt."""
        argv = kerberos.argv(self._directory, self._principal)
        try:
            kinit = await asyncio.create_subprocess_exec(
                *argv, env=self._env, stdin=DEVNULL, stdout=DEVNULL, stderr=PIPE
            )
        except (OSError, ValueError) as error:
            return kerberos.could_not_start(self._principal, error), RETRY_AFTER
        _, written = await kinit.communicate()
        code, _ = ending = process.ending(kinit.returncode or 0)
        if code:
            text = written.decode("utf-8", "backslashreplace")
            return kerberos.failure(self._principal, ending, text), RETRY_AFTER
        ending, pause = kerberos.adopt(self._directory, self._principal, time.time())
        return (ending if ending[0] else None), pause
