"""A task that runs as our own child in the terminal, while the others are remote.

It stays in our process group, so it can read the keyboard, and Ctrl-C and Ctrl-Z reach it. A
variable in its environment identifies all processes that it starts.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress

from ..acceptor import family_of
from ..config.launch_config import LaunchConfig
from ..core.events import Event, TaskExited, TaskReady
from ..errors import SpecError
from ..json_types import Json
from ..node.process import guard
from ..node.task.port import Port, why_refused
from ..node.task.secret_files import Secrets
from ..node.task.steps import Steps
from ..node.task.workspace import SHIP_DIR
from ..shared import process
from ..shared.address import join_address
from .chief_ticket import ChiefTicket

_HOME = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GUARD_GRACE = 2.0  # seconds from SIGTERM to SIGKILL if we are killed


Emit = Callable[[Event], object]


class LocalChief:
    """The task, its address, and its process once it has been started.

    It runs in the shipped directory itself, of which the others have a copy.
    """

    def __init__(
        self, config: LaunchConfig, run_id: str, host: str, say: Callable[[str], None]
    ) -> None:
        self.task = task = config.chief
        self.task_id = f"{run_id}-{task.job.name}-{task.index}-here"
        self._secrets = Secrets(config.secrets.reveal() or {})
        self._shipped = (config.ship.directory if config.ship else "") or ""
        self._ticket: ChiefTicket | None = None
        self._say = say
        self._stop_signal = process.STOP_SIGNALS[config.stop_signal]
        self._port = self._hold_port(host)
        self.address = join_address(host, self._port.number)
        self._guard = self._start_guard()
        self._process: asyncio.subprocess.Process | None = None
        self.is_started = False
        self._stop_grace: float | None = None  # seconds from SIGTERM to SIGKILL, once stopping

    def _hold_port(self, host: str) -> Port:
        wanted, is_wish = self.task.job.wanted_port, not self.task.job.insists_on_port
        try:
            port = Port(family_of(host), wanted, is_wish)
        except OSError as error:
            problem = f"{wanted} is not free on this machine: {why_refused(wanted, error)}"
            raise SpecError(self.task.job.name, "port", problem) from None
        if port.remark:
            self._say(f"{self.task.name} {port.remark}")
        return port

    def _start_guard(self) -> subprocess.Popen[bytes]:
        """Starts a process that ends the task if we are killed: its standard input ends with us."""
        argv = guard.program(sys.executable, _HOME, self.task_id, GUARD_GRACE)
        return subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True)

    def close(self) -> None:
        self._port.close()
        process.kill_marked(process.MARK, self.task_id)
        self._remove_secrets()
        self._guard.kill()  # whatever state it is in
        self._guard.communicate()

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def is_stopping(self) -> bool:
        return self._stop_grace is not None

    async def live(self, start: Json, emit: Emit) -> None:
        """Runs it from start to end, which *emit* receives."""
        emit(TaskReady(self.task_id))
        code, reason = await self._run(start)
        emit(TaskExited(self.task_id, code, reason, was_stopped=self.is_stopping))

    async def _run(self, start: Json) -> process.Ending:
        """Runs initializer, command and finalizer; returns the exit code and the reason."""
        if problem := await self._bring_secrets():
            return problem
        if start["releases_port"]:
            self._port.release()
        steps = Steps(start, self.task.type, self.task.number)
        mark = {process.MARK: self.task_id, **self._secrets.environment}
        shipped = {SHIP_DIR: self._shipped} if self._shipped else {}
        env = steps.environment({**os.environ, **shipped}, mark)
        is_said = self._shipped or start["cwd_is_given"]
        cwd = os.path.join(self._shipped, start["cwd"] or "") if is_said else None
        while name := steps.next(self._stop_grace):
            own = self._secrets.of_command if name == "command" else {}
            code, reason = ending = await self._run_step(steps.argv(name), {**env, **own}, cwd)
            steps.ended(name, ending)
            if name == "finalizer" and code:
                self._say(f"the finalizer of {self.task.name} {reason}")
        assert steps.ending is not None
        self._remove_secrets()
        return steps.ending

    async def _bring_secrets(self) -> process.Ending | None:
        secrets = self._secrets
        problem = secrets.keep(tempfile.gettempdir(), self._warn_guard)
        if problem or not secrets.principal:
            return problem
        env = {**secrets.environment, process.MARK: self.task_id}
        self._ticket = ChiefTicket(secrets.principal, secrets.directory, env, self._say)
        return await self._ticket.get()

    def _remove_secrets(self) -> None:
        if self._ticket is not None:
            self._ticket.stop()
        self._secrets.remove()

    def _warn_guard(self, directory: str) -> None:
        """As ``Guard.remove_later``."""
        assert self._guard.stdin is not None
        with suppress(BrokenPipeError):  # somebody killed the guard; the command can do without it
            self._guard.stdin.write(os.fsencode(f"{directory}\n"))
            self._guard.stdin.flush()

    async def stop(self, grace: float, emit: Emit) -> None:
        if not self.is_started:
            code, reason = 128 + signal.SIGTERM, "was stopped before it started"
            emit(TaskExited(self.task_id, code, reason, was_stopped=True))
            return
        self._stop_grace = grace if self._stop_grace is None else min(grace, self._stop_grace)
        process.signal_marked(process.MARK, [self.task_id], self._stop_signal)
        await asyncio.sleep(grace)
        process.kill_marked(process.MARK, self.task_id)

    async def _run_step(
        self, argv: list[str], env: Mapping[str, str], cwd: str | None
    ) -> process.Ending:
        try:
            self._process = await asyncio.create_subprocess_exec(*argv, env=env, cwd=cwd)
        except (OSError, ValueError) as error:
            return process.could_not_start(argv[0], error)
        try:
            return process.ending(await self._process.wait())
        finally:
            process.kill_marked(process.MARK, self.task_id)
