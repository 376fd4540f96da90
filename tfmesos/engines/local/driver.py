"""Carries out the actions of the decider on this machine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...config.job import Job
from ...config.launch_config import LaunchConfig
from ...core.outcome import Ending
from ...errors import ResourcesError
from ...text import join_names
from ..api import Context, Emit, Expect
from . import actions as do
from . import events as happened
from .actions import LocalAction
from .demand import check_gpus, check_number, least_gpus
from .engine import obstacle
from .gpu_claims import GpuClaims
from .machine import gpu_ids, installed_memory
from .parent_process import uses_our_python
from .running_tasks import LocalTasks
from .scratch_directory import ScratchDirectory
from .task_launch import Launch

TAIL_BYTES, TAIL_LINES = 8 * 1024, 20


class LocalDriver:
    """*command_of* tells the shell command that becomes the runner of a job's tasks."""

    def __init__(
        self,
        context: Context,
        scratch: ScratchDirectory,
        tasks: LocalTasks,
        emit: Emit,
        expect: Expect,
        command_of: Callable[[Job], str],
        gpus: Sequence[str] = (),
        claims: GpuClaims | None = None,
    ) -> None:
        self._config = context.config
        self._say = context.say
        self._scratch = scratch
        self._tasks = tasks
        self._emit = emit
        self._expect = expect
        self._command_of = command_of
        self._gpu_ids = gpus
        self._claims = claims or GpuClaims()
        tasks.emit = emit
        self._sandboxes: dict[str, Path] = {}  # by task id

    async def look(self, config: LaunchConfig) -> None:
        """Pull the images before anything is stopped."""
        if config.images:
            from .image_pull import provide_images  # most runs have none

            await provide_images(config, lambda text: self._say(text, "notice"))
        check_number(config.size, installed_memory())
        if needed := least_gpus(config.jobs):
            self._gpu_ids = gpu_ids()
            check_gpus(needed, len(self._gpu_ids))
        if reason := obstacle(config.tasks, socket.gethostname()):
            raise ResourcesError(f"the run cannot be placed: {reason}")

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config

    async def run(self) -> None:
        self._emit(happened.MachineFound(socket.gethostname(), tuple(self._gpu_ids)))
        await asyncio.Event().wait()  # their ends say what happens to tasks

    def recall(self, event: Any, actions: Sequence[Any]) -> None:
        """Here tasks end with their launcher."""

    def carry_out(self, action: LocalAction) -> None:
        match action:
            case do.StartTasks():
                self._start(action)
            case do.EndTask(task_id):
                self._tasks.kill(task_id, self._config.kill_grace)
            case do.TakeGpus(number):
                self._take_gpus(number)

    def _take_gpus(self, number: int) -> None:
        if taken := self._claims.take(self._gpu_ids, number):
            return self._emit(happened.GpusTaken(taken))
        others = self._claims.others(self._gpu_ids)
        held = tuple(f"{who} ({join_names(gpus)})" for who, gpus in _by_holder(others).items())
        self._emit(happened.GpusHeld(len(self._gpu_ids) - len(others), held))

    def _start(self, start: do.StartTasks) -> None:
        names = ", ".join(seat.task.name for seat in start.seats)
        self._say(f"launching {names} on {start.hostname}", "info")
        for seat in start.seats:
            sandbox = self._sandboxes[seat.task_id] = self._scratch.new_sandbox(seat.task_id)
            settings, secret = self._expect(seat.task_id, seat.task, seat.port, seat.gpu_ids)
            self._tasks.launch(
                Launch(
                    seat.task_id,
                    seat.task,
                    sandbox,
                    self._command_of(seat.task.job),
                    settings,
                    secret,
                    self._config.image_of(seat.task.job),
                    seat.gpu_ids,
                    uses_our_python(self._config, seat.task.job),
                )
            )

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with the last lines of the runner's own complaints, if it reported nothing."""
        sandbox = self._sandboxes.get(ending.task_id)
        if sandbox is None or ending.is_reported:
            return ending
        return ending.replace(tail=_last_lines(sandbox / "stderr"))

    async def read(self, task_id: str, file: str) -> str:
        """Runners on this machine wait for us, and leave no files."""
        return ""

    async def leave(self, within: float) -> None:
        """Whatever still runs is ended when the setup is closed."""


def _by_holder(holders: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for gpu, holder in holders.items():
        found.setdefault(holder, []).append(gpu)
    return found


def _last_lines(path: Path) -> tuple[str, ...]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read(TAIL_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(text.splitlines()[-TAIL_LINES:])
