"""What the master state asks its shell to do."""

from __future__ import annotations

from dataclasses import dataclass

from .records import Task
from .resources import Json


@dataclass(frozen=True)
class Send:
    """Write one event to a stream."""

    stream: str
    event: Json


@dataclass(frozen=True)
class End:
    """End a stream in good order."""

    stream: str


@dataclass(frozen=True)
class Launch:
    task: Task


@dataclass(frozen=True)
class Kill:
    """Stop a container: SIGTERM, and SIGKILL after *grace* seconds."""

    container_id: str
    grace: float


Effect = Send | End | Launch | Kill
