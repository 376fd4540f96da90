"""Sets up a run on Slurm: its commands, its nodes, and an address that they can reach."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from ...config.engine_kinds import SLURM_SCHEME
from ...config.job import Job
from ...config.launch_config import LaunchConfig
from ...config.slurm_settings import partition_of
from ...errors import EngineError, MasterError, SpecError
from ...launcher.links import payload
from ...launcher.links.listener import Listener
from ...text import join_names
from ..api import Context, Emit, Expect, Setup
from ..listening import listen_as_before
from ..own_address import local_address_towards
from . import images
from .api import answers
from .api.answers import KnownNode
from .api.commands import Answer, Commands
from .driver import SlurmDriver, Surroundings
from .engine import SlurmEngine
from .events import SlurmFound
from .script import TAKE_LINE
from .story import SlurmStory

FIND_WITHIN = 8.0  # seconds for the controller to answer at first
RETRY_EVERY = 0.5  # seconds
_ANY_PORT = 6818  # of a node: only its route is asked for


class SlurmSetup(Setup):
    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = context.config
        self._say = context.say
        self._commands: Commands
        self._nodes: tuple[KnownNode, ...] = ()
        self._allocated = SlurmFound()
        self._apptainer = ""  # the path of the command that runs images; empty: pyxis does
        self.story = SlurmStory()

    @property
    def remark(self) -> str:
        allocation = self._config.slurm.allocation
        return self._config.remark or (f"using Slurm job {allocation}" if allocation else "")

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        self._commands = Commands()
        await self._context.unless_stopped(self._find(began_at))

    async def _find(self, began_at: float) -> None:
        partition = partition_of(self._config.master)
        named = (f"--partition={partition}",) if partition else ()
        words = ("--noheader", "--Node", *named, f"--format={answers.NODE_FORMAT}")
        await self._await_controller(began_at)
        listed = await self._ask("sinfo", *words)
        self._nodes = answers.nodes(listed.out)
        if not self._nodes:
            await self._refuse_partition(partition)
        if self._config.images:
            await self._check_images()
        elif self._context.keys.epoch > 1:  # an update may have given the run an image
            with suppress(SpecError):
                await self._check_images()
        if self._config.slurm.allocation:
            self._allocated = await self._look_around(self._config.slurm.allocation)

    async def _await_controller(self, began_at: float) -> None:
        """For a while. A ping returns at once; other commands wait for a lost controller."""
        clock = asyncio.get_running_loop().time
        timeout = self._config.start_timeout
        end = began_at + (FIND_WITHIN if timeout is None else 0.9 * timeout)
        said = ""
        while (answer := await self._commands.run("scontrol", "ping")).code:
            words = answers.complaint(answer.err) if answer.err else answers.first_line(answer.out)
            if clock() + RETRY_EVERY > end:
                raise EngineError(f"Slurm does not answer: {words}")
            if words != said:
                self._say(f"no answer from Slurm yet: {words}", "notice")
            said = words
            await asyncio.sleep(RETRY_EVERY)

    async def _ask(self, name: str, *arguments: str) -> Answer:
        answer = await self._commands.run(name, *arguments)
        if answer.code:
            raise EngineError(f"Slurm does not answer: {answers.complaint(answer.err)}")
        return answer

    async def _refuse_partition(self, partition: str) -> None:
        if not partition:
            raise EngineError("Slurm has no nodes")
        known = await self._ask("sinfo", "--noheader", "--format=%R")
        names = join_names(sorted(set(known.out.split())))
        problem = f"names a partition that Slurm does not have, {partition!r}: it has {names}"
        raise SpecError(None, "master", problem)

    async def _check_images(self) -> None:
        """Only srun itself shows whether its plugin pyxis is installed."""
        helped = await self._ask("srun", "--help")
        if "--container-image" in helped.out + helped.err:
            return
        found = next(filter(None, map(shutil.which, images.COMMANDS)), None)
        if found is None:
            problem = "needs pyxis or Apptainer: srun here has no --container-image, and there is "
            problem += "no apptainer on the PATH; if the nodes have one, put 'apptainer exec IMAGE'"
            raise SpecError(None, "image", f"{problem} before your command instead")
        self._apptainer = found

    async def _look_around(self, job_id: str) -> SlurmFound:
        """Inspects the allocation that we run in."""
        words = ("--oneliner", "--details", "show", "job", job_id)
        shown = await self._commands.run("scontrol", *words)
        if shown.code and not answers.is_unknown_job(shown.err):
            raise EngineError(f"Slurm does not answer: {answers.complaint(shown.err)}")
        components = answers.components(shown.out)
        if not components:
            problem = f"Slurm job {job_id}, which SLURM_JOB_ID names, does not run"
            raise EngineError(f"{problem}: unset it, or name a partition: -m {SLURM_SCHEME}NAME")
        return SlurmFound(components)

    async def listen(self, listener: Listener) -> str:
        launcher, self.certificate = await listen_as_before(listener, self._context, self._own_host)
        return launcher

    async def _own_host(self) -> str:
        """Our address on the route to the first node."""
        address = self._nodes[0].address
        find = asyncio.to_thread(local_address_towards, address, _ANY_PORT)
        try:
            return await self._context.unless_stopped(find)
        except MasterError as error:
            way_out = f"say where the nodes find this host with {self._context.named('advertise')}"
            raise EngineError(f"{error}; {way_out}") from None

    def _program(self, job: Job, config: LaunchConfig) -> list[str]:
        command = payload.long_command(config.python_of(job), TAKE_LINE)
        return images.program(command, job, config, self._apptainer)

    def driver(self, decider: SlurmEngine, emit: Emit, expect: Expect) -> SlurmDriver:
        around = Surroundings(
            self._commands,
            self._nodes,
            self._program,
            self._check_images,
            self._allocated,
        )
        return SlurmDriver(self._context, around, decider, emit, expect)
