"""A task that runs as our own child, attached to the terminal, while the others are remote.

It stays in our process group: so it can read the keyboard, and Ctrl-C and Ctrl-Z reach it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from typing import Any

from . import command, process
from .reservation import family_of, reserve
from .spec import Task
from .wire import join_address

Json = dict[str, Any]


class Here:
    """The task, its address, and its process once it has been started."""

    def __init__(self, task: Task, run_id: str, host: str) -> None:
        self.task, self.task_id = task, f"{run_id}-{task.job.name}-{task.index}-here"
        self._reservation = reserve(family_of(host))
        self.address = join_address(host, self._reservation.getsockname()[1])
        self._mark = f"TFMESOS_HERE={self.task_id}"  # by which all that it starts is found
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    def close(self) -> None:
        self._reservation.close()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def run(self, start: Json) -> tuple[int, str]:
        """Initializer, command and finalizer; returns the exit code and what to say of it."""
        who = (start["cluster"], self.task.job.name, self.task.index)
        values = command.placeholders(*who)
        mark = dict([self._mark.split("=")])
        env = command.merged(os.environ, command.environment(*who), start["user_env"], mark)
        code, reason = 0, ""
        if start["initializer"]:
            code, reason = await self._step(command.argv(start["initializer"], values), env)
            reason = f"its initializer {reason}"
        if not code and not self._stopping:
            code, reason = await self._step(command.argv(start["command"], values), env)
        if start["finalizer"]:
            await self._step(command.argv(start["finalizer"], values), env)
        return code, reason or "was stopped before its command"

    async def stop(self, grace: float) -> None:
        self._stopping = True
        process.signal_marked(self._mark, signal.SIGTERM)
        await asyncio.sleep(grace)
        process.signal_marked(self._mark, signal.SIGKILL)

    async def _step(self, argv: list[str], env: Mapping[str, str]) -> tuple[int, str]:
        try:
            self._process = await asyncio.create_subprocess_exec(*argv, env=env)
        except OSError as error:
            return 127, f"could not be started: {argv[0]}: {error.strerror}"
        try:
            returncode = await self._process.wait()
        finally:
            process.signal_marked(self._mark, signal.SIGKILL)
        if returncode < 0:
            return process.exit_code(
                returncode
            ), f"was killed by {signal.Signals(-returncode).name}"
        return returncode, f"exited with {returncode}"
