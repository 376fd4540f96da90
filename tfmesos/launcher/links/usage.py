"""What a task is using, as measured by its runner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import FrameError
from ...record import Record

MOST = 2**60  # bytes, or percent: nothing has more, and a runner may report anything
MOST_GPUS = 64


class Gpu(Record):
    """Values that its driver does not report are None."""

    busy: int | None  # percent of the time
    used: int | None  # bytes of its memory
    total: int | None


class Usage(Record):
    cpu: float  # percent of a core
    memory: int  # bytes
    gpus: tuple[Gpu, ...] = ()


def usage_of(message: Mapping[str, Any]) -> Usage | None:
    """The field ``usage`` of a heartbeat; None if nothing was measured."""
    found = message.get("usage")
    if not found:
        return None
    if not isinstance(found, dict):
        raise FrameError("a malformed measurement")
    gpus = found.get("gpus", [])
    if not isinstance(gpus, list) or len(gpus) > MOST_GPUS:
        raise FrameError("a measurement with malformed GPUs")
    cpu, memory = _amount(found.get("cpu")), _amount(found.get("memory"))
    return Usage(cpu, int(memory), tuple(map(_gpu, gpus)))


def _gpu(found: Any) -> Gpu:
    if not isinstance(found, list) or len(found) != 3:
        raise FrameError("a measurement with a malformed GPU")
    return Gpu(*(None if value is None else int(_amount(value)) for value in found))


def _amount(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST:
        raise FrameError("a measurement with an invalid number")
    return value
