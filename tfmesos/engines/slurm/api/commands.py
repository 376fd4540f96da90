"""Runs Slurm's commands: one at a time each, with a time limit, and without a shell."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import IO

from ....errors import EngineError
from ....record import Record

COMMANDS = ("sbatch", "squeue", "scontrol", "scancel", "srun", "sinfo")
_OPTIONAL = ("sacct",)
TIMEOUT = 30.0  # seconds for one command
RETRY_EVERY = 1.0  # seconds, while nobody answers
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LD_LIBRARY_PATH", "KRB5CCNAME")
_OF_SLURM = ("SLURM_CONF", "SLURM_JWT", "SLURM_CLUSTERS", "SLURM_WORKING_CLUSTER", "SBATCH_")


class Answer(Record):
    code: int
    out: str
    err: str


class Commands:
    """Raises EngineError if this host does not have them."""

    def __init__(self) -> None:
        self._paths = {name: _found(name) for name in COMMANDS}
        self._paths |= {name: path for name in _OPTIONAL if (path := shutil.which(name))}
        # Nothing else of our environment: sbatch passes on everything it gets.
        self._environment = {
            name: value
            for name, value in os.environ.items()
            if name in _KEPT or name.startswith(_OF_SLURM)
        } | {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C"}

    def has(self, name: str) -> bool:
        return name in self._paths

    async def run(
        self, name: str, *arguments: str, given: str = "", within: float = TIMEOUT
    ) -> Answer:
        """*given* is its standard input. A command that takes too long counts as unanswered."""
        process = await self.start(name, arguments, given)
        try:
            async with asyncio.timeout(within):
                out, err = await process.communicate()
        except TimeoutError:
            return Answer(1, "", f"{name}: error: Socket timed out after {within:g} s")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Answer(process.returncode or 0, _text(out), _text(err))

    async def start(
        self, name: str, arguments: Sequence[str], given: str
    ) -> asyncio.subprocess.Process:
        """It gets all of *given* or is not started, even if we are killed meanwhile."""
        with _in_memory(given) as file:
            return await asyncio.create_subprocess_exec(
                self._paths[name],
                *arguments,
                env=self._environment,
                cwd="/",
                stdin=file,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # a Ctrl-C is not for it
            )


def _in_memory(text: str) -> IO[str]:
    file = open(os.memfd_create("given"), "w+", encoding="utf-8")
    file.write(text)
    file.seek(0)
    return file


def _found(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        problem = f"there is no Slurm here: no {name} on the PATH"
        raise EngineError(f"{problem}; run tfmesos where sbatch works, as on a login node")
    return path


def _text(data: bytes) -> str:
    return data.decode(errors="replace")
