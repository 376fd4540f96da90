"""Work that a request to end the run cuts short."""

from __future__ import annotations

import asyncio

import pytest

from tfmesos.errors import Interrupted
from tfmesos.launcher import interrupt
from tfmesos.launcher.interrupt import StopRequests


async def cut_short(work):
    """Request a stop once *work* has begun."""
    requests = StopRequests()
    asyncio.get_running_loop().call_soon(requests.add, "interrupted", 130)
    with pytest.raises(Interrupted, match="interrupted"):
        await requests.unless_requested(work)


def test_work_that_is_cut_short_has_cleaned_up_when_the_interrupt_is_told():
    steps = []

    async def work():
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.01)  # the end of a process that was killed
            steps.append("clean")

    async def main():
        await cut_short(work())
        return list(steps)

    assert asyncio.run(main()) == ["clean"]


def test_work_that_does_not_clean_up_in_time_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(interrupt, "CLEAN_UP_WITHIN", 0.01)
    go = asyncio.Event()

    async def work():
        try:
            await asyncio.sleep(1000)
        finally:
            await go.wait()

    asyncio.run(cut_short(work()))
    assert not go.is_set()
