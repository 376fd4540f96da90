"""Time limits of a process that may be stopped; a loop that is blocked is as good as that."""

from __future__ import annotations

import asyncio

import pytest

from tests.bounds import HANG
from tests.clock import put_forward
from tfmesos import awake_timeout as module
from tfmesos.awake_timeout import awake_timeout


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(module, "HELD_UP", 0.1)
    monkeypatch.setattr(module, "AFTER_STOP", 0.2)


def test_a_block_that_takes_too_long_is_ended():
    async def main():
        async with awake_timeout(0.01):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_what_comes_after_a_stop_is_still_in_time(monkeypatch):
    monkeypatch.setattr(module, "AFTER_STOP", HANG)

    async def main():
        came = asyncio.Event()
        async with awake_timeout(2 * HANG):
            put_forward(3 * HANG)
            asyncio.get_running_loop().call_later(0.01, came.set)
            await came.wait()

    asyncio.run(main())


def test_what_does_not_come_after_a_stop_either_is_too_late():
    async def main():
        async with awake_timeout(2 * HANG):
            put_forward(3 * HANG)
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        asyncio.run(main())


def test_a_block_that_is_left_in_time_is_not_cancelled_later():
    async def main():
        async with awake_timeout(0.02):
            pass
        await asyncio.sleep(0.1)

    asyncio.run(main())


def test_a_cancellation_from_outside_is_no_time_that_is_over():
    async def main():
        async with asyncio.timeout(0.01), awake_timeout(60):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return_to.append("cancelled")
                raise

    return_to = []
    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert return_to == ["cancelled"]
