"""A clock that keeps running while the machine is suspended, as that of an event loop does not."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the latter is that of macOS


def since_boot() -> float:
    """In seconds."""
    return time.clock_gettime(_CLOCK)
