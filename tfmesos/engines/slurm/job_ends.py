"""Ends jobs of a run: cancels them, or tells their scripts to end."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Collection, Sequence

from ...errors import EngineError
from ..api import Context
from . import request
from .api import answers
from .api.commands import RETRY_EVERY, TIMEOUT, Answer, Commands
from .holder import Holding, mark_in

SETTLE_WITHIN = 2.0  # seconds for a command that was killed to have its effect


class JobEnds:
    def __init__(self, context: Context, commands: Commands, holding: Holding) -> None:
        self.config = context.config  # of the present generation
        self._run_id = context.run_id
        self._say = context.say
        self._commands = commands
        self._holding = holding

    async def cancel(self, job_id: str, within: float = TIMEOUT) -> Answer:
        return await self._scancel(job_id, (), within)

    async def tell(self, job_id: str, within: float = TIMEOUT) -> Answer:
        """Its script then ends with the exit code of its steps."""
        return await self._scancel(job_id, ("--batch", "--signal=USR1"), within)

    async def _scancel(self, job_id: str, options: Sequence[str], within: float) -> Answer:
        """Unless another launcher holds the run; it cannot if the run ends with its launcher."""
        if self.config.survive and not await self._holding.holds(job_id, within):
            return Answer(0, "", "")
        return await self._commands.run("scancel", *options, job_id, within=within)

    # At the end of the run

    async def by(self, end: float, job_id: str, *, is_over: bool = False) -> None:
        """End it; its script does so itself if all is over. Slurm is asked again until *end*."""
        ask = self.tell if is_over else self.cancel
        is_last = False
        while not is_last:
            is_last = time.monotonic() > end
            answer = await ask(job_id, max(end - time.monotonic(), RETRY_EVERY))
            if not answer.code or not answers.is_away(answer.err):
                return
            await asyncio.sleep(RETRY_EVERY / 4)
        text = f"Slurm does not answer: job {job_id} may still be there (scancel {job_id})"
        self._say(text, "warning")

    async def of_unknown(self, known: Collection[str], keys: Collection[str], end: float) -> None:
        """Cancel our jobs that are not *known*.

        Slurm has not answered who submitted those with these *keys*; an earlier launcher may not
        have recorded others.
        """
        ours = request.comment(self._run_id, "")
        until = max(end, time.monotonic() + SETTLE_WITHIN) if keys else end
        missing = {request.comment(self._run_id, key) for key in keys}
        problem = "Slurm has not answered sbatch"
        while True:
            try:
                found = await self._holding.comments(until)
            except EngineError as error:
                problem = str(error)
                break
            for job_id, comment in found.items():
                if comment.startswith(ours) and job_id not in known:
                    await self.by(end, job_id)
            missing -= {mark_in(comment) for comment in found.values()}
            if not missing:
                return
            if time.monotonic() > until:
                break
            await asyncio.sleep(RETRY_EVERY / 4)
        name = shlex.quote(request.job_name(self.config, self._run_id))
        self._say(f"{problem}: a job may be there yet (squeue --me --name={name})", "warning")
