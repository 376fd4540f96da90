"""Sets up a run on this machine: a directory, an address, and Docker if it has images."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from ...config.job import Job
from ...errors import SpecError
from ...launcher.links import payload
from ...shared.address import join_address
from ..api import Context, Emit, Expect, Listens, Setup
from ..listening import link_tls, listen_for_all
from .demand import check_gpus, check_number, excess, least_gpus, total
from .driver import LocalDriver
from .engine import LocalStory
from .gpu_claims import GpuClaims
from .machine import amounts, gpu_ids, installed_memory
from .parent_process import uses_our_python
from .running_tasks import LocalTasks
from .scratch_directory import ScratchDirectory

if TYPE_CHECKING:
    from .docker import Engine

EXIT_GRACE = 1.0  # seconds between SIGTERM and SIGKILL of tasks that are left at the end


class LocalSetup(Setup):
    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = context.config
        self._say = context.say
        self._directory = ScratchDirectory()
        self._tasks: LocalTasks
        self._gpu_ids: tuple[str, ...] = ()
        self._claims = GpuClaims()
        self.scratch = str(self._directory.path)
        self.story = LocalStory()

    @property
    def remark(self) -> str:
        config = self._config
        if config.remark or not config.images or config.containerizer is not None:
            return config.remark
        who = "the tasks" if config.all_in_images else "the tasks with an image"
        return f"{who} run in {' and '.join(config.images)} on the Docker of this machine"

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        config = self._config
        if config.images:
            from .image_pull import provide_images  # most runs have none

            await self._context.unless_stopped(provide_images(config, self._notice))
        check_number(config.size, installed_memory())
        wanted = total(config.jobs, "gpus")
        self._gpu_ids = gpu_ids() if wanted else ()
        check_gpus(least_gpus(config.jobs), len(self._gpu_ids))
        if beyond := excess(config.jobs, amounts()):
            text = f"the tasks ask for more than this machine has, and run anyway: {beyond}"
            self._notice(text)
        if wanted and not self._claims.is_supported:
            self._say("other runs on this machine may use the same GPUs", "info")
        stack.callback(self._claims.close)
        stack.callback(self._directory.close)
        self._tasks = LocalTasks(self._directory, self._new_engine)
        if any(uses_our_python(config, job) for job in config.jobs):
            self._tasks.warm_up()
        stack.push_async_callback(lambda: self._tasks.close(0.0 if is_hurried() else EXIT_GRACE))

    def _notice(self, text: str) -> None:
        self._say(text, "notice")

    def _new_engine(self) -> Engine:
        from .docker import Engine

        config = self._config
        user = config.task_user or config.user
        return Engine(str(self._directory.path), user, config.volumes)

    async def listen(self, listener: Listens) -> str:
        """The tasks are on this machine, so a loopback address will do."""
        config = self._config
        host, port = config.advertise or ("127.0.0.1", 0)
        tls, self.certificate = link_tls(config, host, self._context)
        if config.advertise is None:
            return join_address(*await listener.listen(host, port, tls))
        if not config.images:
            await self._context.unless_stopped(_check_host(host))
        return await listen_for_all(listener, host, port, tls)

    def _command_of(self, job: Job) -> str:
        """The shell command that becomes the runner of its tasks."""
        return payload.command(self._config.python_of(job))

    def driver(self, decider: object, emit: Emit, expect: Expect) -> LocalDriver:
        return LocalDriver(
            self._context,
            self._directory,
            self._tasks,
            emit,
            expect,
            self._command_of,
            self._gpu_ids,
            self._claims,
        )


async def _check_host(host: str) -> None:
    """The tasks are on this machine and can resolve no more hosts than we can."""
    try:
        await asyncio.get_running_loop().getaddrinfo(host, None)
    except OSError as error:
        problem = f"{host!r} cannot be resolved on this machine: {error.strerror}"
        raise SpecError(None, "advertise", problem) from None
