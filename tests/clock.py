"""The clock of an event loop, put forward: hours pass at once, however busy the machine is."""

from __future__ import annotations

import asyncio

from tfmesos.boot_clock import since_boot


def put_forward(seconds: float) -> None:
    """From now on the running loop takes it to be so much later; what is due by then comes next."""
    loop = asyncio.get_running_loop()
    before = loop.time
    loop.time = lambda: before() + seconds  # type: ignore[method-assign]


class SuspendedClock:
    """That of a machine which is suspended for a while: only what counts it sees it pass."""

    def __init__(self) -> None:
        self._suspended = 0.0

    def suspend(self, seconds: float) -> None:
        self._suspended += seconds

    def __call__(self) -> float:
        return since_boot() + self._suspended
