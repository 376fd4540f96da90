"""Asks Slurm what it would make of a job, without submitting it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ...config.job import Task
from ...config.launch_config import LaunchConfig
from ...errors import ResourcesError
from . import request
from .actions import Seat
from .allocation import steps_of
from .api import answers
from .api.answers import KnownNode
from .api.commands import Answer, Commands

AT_ONCE = 60.0  # seconds; the clock of the controller may be another one


class Trial:
    def __init__(self, commands: Commands, run_id: str, nodes: Sequence[KnownNode]) -> None:
        self._commands = commands
        self._run_id = run_id
        self._nodes = nodes

    async def refuse_too_large(self, config: LaunchConfig) -> None:
        """Slurm itself says whether it could ever start such a job."""
        tested = await self._test(config.tasks, config)
        if tested.code and not answers.is_away(tested.err):
            problem = answers.complaint(tested.err)
            raise ResourcesError(f"the run cannot be placed: Slurm refuses the job: {problem}")

    async def has_room(self, task: Task, config: LaunchConfig) -> bool:
        """Would a job for this task alone start at once?"""
        tested = await self._test([task], config)
        starts_in = answers.starts_in(tested.err, time.time())
        return starts_in is not None and starts_in <= AT_ONCE

    async def _test(self, tasks: Sequence[Task], config: LaunchConfig) -> Answer:
        steps = steps_of(Seat(task.name, task) for task in tasks)
        words = request.submission(config, self._run_id, "0", steps, self._nodes)
        return await self._commands.run("sbatch", "--test-only", *words, given="#!/bin/sh\n")
