"""Calls are made in order, and nobody waits for those that are dropped."""

from __future__ import annotations

import asyncio

from tfmesos.call_queue import CallQueue


async def note(made, number):
    await asyncio.sleep(0)
    made.append(number)


def test_calls_are_made_one_after_another_in_the_order_they_came():
    async def scenario():
        calls, made = CallQueue(), []
        for number in range(3):
            calls.add(lambda number=number: note(made, number))
        running = asyncio.create_task(calls.run())
        await calls.all_made()
        running.cancel()
        return made

    assert asyncio.run(scenario()) == [0, 1, 2]


def test_nobody_waits_for_calls_that_are_dropped():
    async def scenario():
        calls, made = CallQueue(), []
        calls.add(lambda: note(made, 1))
        assert len(calls) == 1
        calls.drop()
        await calls.all_made()
        return made, len(calls)

    assert asyncio.run(scenario()) == ([], 0)
