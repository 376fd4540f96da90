"""What the master state asks its shell to do."""

from __future__ import annotations

from tfmesos.json_types import Json
from tfmesos.record import Record

from .entities import Task


class Send(Record):
    """Write one event to a stream."""

    stream: str
    event: Json


class End(Record):
    """End a stream in good order."""

    stream: str


class Launch(Record):
    task: Task


class Kill(Record):
    """Stop a container: SIGTERM, and SIGKILL after *grace* seconds."""

    container_id: str
    grace: float


Effect = Send | End | Launch | Kill
