"""The attributes that programs for TFMesos read from their scheduler."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType

from ...config.launch_config import LaunchConfig
from ...core.actions import ClusterSpec
from ...record import Record


class SchedulerTask(Record):
    """A task, in the words of TFMesos."""

    job_name: str
    task_index: int
    cpus: float
    mem: float
    gpus: float
    addr: str | None  # host:port; None before it has one


class OldNames:
    config: LaunchConfig
    _ready: Future[ClusterSpec]

    @property
    def started(self) -> bool:
        """Whether all tasks have started."""
        return self._ready.done() and self._ready.exception() is None

    @property
    def tasks(self) -> Mapping[str, SchedulerTask]:
        """Task name -> its job, index, resources and address, without waiting for addresses."""
        known = self._ready.result() if self.started else {}
        found = {}
        for task in self.config.tasks:
            job, index = task.job, task.number
            addresses = known.get(task.type, ())
            at = index - job.start
            addr = addresses[at] if at < len(addresses) else None
            found[task.mesos_name] = SchedulerTask(
                task.type, index, job.cpus, job.mem, job.gpus, addr
            )
        return MappingProxyType(found)
