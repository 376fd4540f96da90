"""Takes the last output of tasks whose engine reported their end before their runner did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from .runner_link import RunnerLink
from .runner_reports import RunnerReports

LOOK_EVERY = 0.05  # seconds
QUIET = 20  # looks in a row without anything new: then everything has arrived
MOST = 100  # looks while there is always something new


async def drain(unreported: Callable[[], Sequence[RunnerLink]], reports: RunnerReports) -> None:
    """Take in what runners that are gone have sent, however long it takes to show it.

    A living runner would keep sending, so nothing more is acknowledged: then it sends no more than
    it holds. It is also heard only for a while, not counting the time in which output is shown.
    """
    quiet = looks = 0
    while quiet < QUIET and looks < MOST:
        connected = [link for link in unreported() if link.writer is not None]
        if not connected:
            return
        for link in connected:
            link.stop_acknowledging()
        await asyncio.sleep(LOOK_EVERY)
        looks += not reports.is_showing
        quiet = 0 if reports.is_busy else quiet + 1
