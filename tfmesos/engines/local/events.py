"""Events on this machine (past tense), from the driver to the decider."""

from __future__ import annotations

from ...record import Record


class LocalEvent(Record):
    """Goes to the decider of this engine, and to no other."""


class MachineFound(LocalEvent):
    """Tasks can be started: this is the machine, and these are its GPUs that we may use."""

    hostname: str
    gpu_ids: tuple[str, ...] = ()


class GpusTaken(LocalEvent):
    """These GPUs are ours until the run ends."""

    gpu_ids: tuple[str, ...]


class GpusHeld(LocalEvent):
    """Too few GPUs are free, so none was taken; *holders* have the others."""

    free: int
    holders: tuple[str, ...]


class TaskStarted(LocalEvent):
    """The runner of the task is a process of this machine, or a container."""

    task_id: str


class TaskGone(LocalEvent):
    """Nothing of the task is left on this machine."""

    task_id: str
    code: int  # as a shell counts: 137 for SIGKILL
    reason: str  # the rest of a sentence about the task
    was_killed: bool = False  # by us
    is_lost: bool = False  # nobody saw how it ended
