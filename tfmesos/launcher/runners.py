"""The runners of a run; each is expected from the moment its task is handed to the engine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from ..config.job import Task
from ..config.launch_config import LaunchConfig
from ..config.secret import Secret
from ..core.events import EngineGaveUp, Event
from ..engines.api import Setup
from ..errors import TFMesosError
from .keys import Keys
from .links.listener import Listener
from .links.messages import runner_settings, stub_settings
from .shipment import Shipment


class InputsGone(TFMesosError):
    """Secrets or files for the tasks could not be read again after a take-over."""

    exit_code = 66  # EX_NOINPUT


class Runners:
    """*launcher* is the address at which they find us."""

    def __init__(
        self,
        config: LaunchConfig,
        run_id: str,
        setup: Setup,
        listener: Listener,
        launcher: str,
        shipment: Shipment,
        keys: Keys,
    ) -> None:
        self._keys = keys
        self._attempts: Counter[str] = Counter()  # how often each task id was given a place
        self._config = config
        self._run_id = run_id
        self._setup = setup
        self._listener = listener
        self._launcher = launcher
        self._shipment = shipment
        self.names: dict[str, str] = {}  # task id -> name on the screen
        self._emit: Callable[[Event], object] = lambda event: None  # after a take-over

    def go_on(self, emit: Callable[[Event], object], is_starting: bool) -> None:
        """The replay is over.

        From now on no task is started without the secrets or files it needs.
        """
        self._emit = emit
        if is_starting and self._missing:
            self._give_up(self._missing)

    @property
    def _missing(self) -> str:
        return self._config.secrets.missing or self._shipment.missing

    def _give_up(self, problem: str) -> None:
        self._emit(EngineGaveUp(InputsGone(problem)))

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config

    def expect(
        self, task_id: str, task: Task, port: int | None = None, gpu_ids: Sequence[str] = ()
    ) -> tuple[str, Secret]:
        """Expect the runner of this task; returns what its stub receives, and its secret."""
        # Where a task can see this process: a container has pids and files of its own.
        scratch = self._setup.scratch
        is_near = scratch is not None and self._config.image_of(task.job) is None
        owner, more = (os.getpid(), {"scratch": scratch}) if is_near else (None, {})
        if task_id in self.names:  # its place was not good: nobody speaks for it from there
            self._listener.forget(task_id)
        self.names[task_id] = task.name
        if self._missing:
            self._give_up(f"{task.name} cannot be started again: {self._missing}")
        settings = runner_settings(self._config, task, port, gpu_ids)
        settings = settings | self._shipment.described | more
        self._attempts[task_id] += 1
        first, later = (
            self._keys.secret_of(word, task_id, str(self._attempts[task_id]))
            for word in ("first", "later")
        )
        secret = Secret(self._listener.expect(task_id, first, settings, later).hex())
        told = stub_settings(self._run_id, self._launcher, task_id, owner, self._setup.certificate)
        return told, secret
