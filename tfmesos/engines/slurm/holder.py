"""Who holds a run, in the comments of its jobs.

A launcher that was stopped for a while may not reach the one that has taken the run over, but still
reach Slurm: it must not cancel a job that is no longer its own. The comment of a job begins with
three words (``request.comment``); a launcher that has taken the run over adds its number and name.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Callable, Mapping

from ...errors import EngineError
from .api import answers
from .api.commands import RETRY_EVERY, TIMEOUT, Commands

_WORDS = 3  # before the number of the launcher
_FIRST = (1, "")


def holder_in(comment: str) -> tuple[int, str]:
    """The number of the launcher that holds the run, and its name if it is not the first."""
    words = comment.partition(";")[0].split(" ", _WORDS + 1)
    if len(words) <= _WORDS + 1 or not words[_WORDS].isdigit():
        return _FIRST
    return int(words[_WORDS]), words[_WORDS + 1]


def mark_in(comment: str) -> str:
    """The mark that identifies the job."""
    return " ".join(comment.partition(";")[0].split(" ")[:_WORDS])


class Holding:
    """*epoch* is the number of this launcher; *give_away* is called if there is a later one."""

    def __init__(self, commands: Commands, epoch: int, give_away: Callable[[str], None]) -> None:
        self._commands = commands
        self._epoch = epoch
        self._give_away = give_away
        self._name = f"{socket.gethostname()} (pid {os.getpid()})"
        self.writing = asyncio.Lock()  # held from reading a comment until it is changed

    def named(self, mark: str) -> str:
        """The beginning of the comments of our jobs."""
        return mark if self._epoch == 1 else f"{mark} {self._epoch} {self._name}"

    async def look(self, comments: Mapping[str, str]) -> bool:
        """Do we still hold the run, by the *comments* of its jobs? From now on they name us."""
        for job_id, comment in comments.items():
            epoch, name = holder_in(comment)
            if epoch > self._epoch or (epoch == self._epoch and name not in ("", self._name)):
                self._give_away(f"another launcher holds the run now: {name}")
                return False
            if epoch < self._epoch:
                await self._name_us(job_id)
        return True

    async def _name_us(self, job_id: str) -> None:
        """Its comment may have changed since it was listed. The next look repeats what fails."""
        async with self.writing:
            comment = (await self._listed(job_id, TIMEOUT)).get(job_id)
            if comment is None or holder_in(comment)[0] >= self._epoch:
                return
            head, semicolon, notes = comment.partition(";")
            text = f"{self.named(mark_in(head))}{semicolon}{notes}"
            await self._commands.run("scontrol", "update", f"JobId={job_id}", f"Comment={text}")

    async def holds(self, job_id: str, within: float) -> bool:
        """Do we still hold the run, by the comment of this job?"""
        return await self.look(await self._listed(job_id, within))

    async def _listed(self, job_id: str, within: float) -> dict[str, str]:
        words = ("--noheader", f"--jobs={job_id}", "--format=%i|%k")
        return answers.comments((await self._commands.run("squeue", *words, within=within)).out)

    async def job_with(self, mark: str, end: float) -> str:
        """The number of the job that is known by it; empty if there is none."""
        found = await self.comments(end)
        return next((number for number, text in found.items() if mark_in(text) == mark), "")

    async def comments(self, end: float) -> dict[str, str]:
        """Those of the jobs of this user that have not ended, by their numbers.

        Raises EngineError if Slurm has not listed them by *end*.
        """
        while True:
            within = min(max(end - time.monotonic(), RETRY_EVERY), TIMEOUT)
            words = ("--noheader", "--me", "--format=%i|%k")
            answer = await self._commands.run("squeue", *words, within=within)
            if not answer.code:
                return answers.comments(answer.out)
            if time.monotonic() > end:
                raise EngineError(f"Slurm does not answer: {answers.complaint(answer.err)}")
            await asyncio.sleep(RETRY_EVERY)
