"""Tasks are started no faster than the machine takes them up, and never wait for ever."""

from __future__ import annotations

import asyncio

from tests.bounds import HANG
from tfmesos.engines.local import start_rate
from tfmesos.engines.local.start_rate import AT_ONCE, LOOKS, StartRate

CROWD = 10_000


def play(number, is_crowded, before=0):
    """The ids in the order they were started, and how many were each time somebody looked.

    *before* processes of others want to run all the time.
    """

    async def main():
        started, looks, done = [], [], asyncio.Event()

        def start(container_id):
            started.append(container_id)
            if len(started) == number:
                done.set()

        def look():
            if not started:
                return before
            looks.append(len(started))
            return before + CROWD * is_crowded(looks)

        paced = StartRate(start, look)
        for each in range(number):
            paced.add(str(each))
        assert started == [], "not before the loop has its turn"
        await asyncio.wait_for(done.wait(), HANG)
        return started, looks

    return asyncio.run(main())


def test_a_machine_with_time_gets_all_of_them_in_their_order_without_a_wait():
    started, looks = play(50, lambda looks: False)
    assert started == [str(each) for each in range(50)]
    assert len(looks) == 50 - AT_ONCE


def test_a_few_are_started_at_once_however_busy_the_machine_is():
    assert play(AT_ONCE, lambda looks: True)[1] == []


def test_a_crowded_machine_is_left_alone_for_a_while_before_each_of_the_others():
    _, looks = play(AT_ONCE + 3, lambda looks: True)
    assert [looks.count(AT_ONCE + n) for n in range(3)] == [LOOKS] * 3


def test_the_wait_ends_when_the_crowd_does():
    _, looks = play(AT_ONCE + 1, lambda looks: len(looks) < 3)
    assert len(looks) == 3


def test_nothing_is_started_after_the_end():
    async def main():
        started = []
        paced = StartRate(started.append, lambda: False)
        paced.add("a")
        paced.close()
        await asyncio.sleep(0)
        return started

    assert asyncio.run(main()) == []


def test_what_others_run_keeps_nobody_waiting():
    assert len(play(AT_ONCE + 3, lambda looks: False, before=CROWD)[1]) == 3


def test_linux_tells_how_many_want_to_run_and_where_none_tells_nobody_waits(monkeypatch):
    assert start_rate.count_runnable() >= 1
    monkeypatch.setattr(start_rate, "LOAD", "/no/such/file")
    assert start_rate.count_runnable() == 0
