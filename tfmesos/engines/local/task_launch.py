"""The parameters with which one attempt at a task is started on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...config.job import Task
from ...config.secret import Secret
from ...record import Record

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SANDBOX = "MESOS_SANDBOX"  # the variable that marks all that a task starts


class Launch(Record):
    task_id: str
    task: Task
    sandbox: Path  # its directory, on this machine
    command: str  # of a shell: it becomes the runner
    settings: str  # of the stub
    secret: Secret
    image: str | None = None
    gpu_ids: tuple[str, ...] = ()
    is_ours: bool = False  # is its runner one of our own Python, and no container's?

    def environment(self) -> dict[str, str]:
        """Nothing of our own: the runner learns what the task inherits."""
        return {"PATH": PATH, SANDBOX: str(self.sandbox), **self.for_runner()}

    def for_runner(self) -> Mapping[str, str]:
        return {"TFMESOS_RUNNER": self.settings, "TFMESOS_SECRET": self.secret.reveal()}


class NotStarted(Exception):
    """The task cannot be started, for this reason."""
