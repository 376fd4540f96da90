"""What runners report becomes events."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.bounds import HANG
from tests.runners import RUN, SECRET, TASK, launcher
from tfmesos.core.events import (
    RunnerLost,
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.shared import wire
from tfmesos.shared.handshake import RunnerHandshake

from .peers import READY, REGISTER, connected, exit_report, output


def test_what_a_runner_reports_becomes_events():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            assert await peer.join() == 0
            for message in (REGISTER, READY, output("a", "b", dropped=3), exit_report(4)):
                peer.say(**message)
            await peer.hear_of("bye")
            return ours

    ours = asyncio.run(main())
    assert ours.events == [
        TaskRegistered(TASK, "10.0.0.1:5", 5),
        TaskReady(TASK),
        TaskExited(TASK, 4, "exited", ("last",)),
    ]
    assert (ours.lines(), ours.dropped) == (["a", "b"], 3)


def test_reports_may_come_in_one_piece_with_the_proof():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            handshake = RunnerHandshake(SECRET, RUN, TASK, os.urandom(16))
            peer.say(**handshake.hello())
            proof = handshake.feed(await peer.hear())
            long = output("x" * 50_000)
            frames = [{**proof, "received": 0}, REGISTER, long, exit_report()]
            peer.writer.write(b"".join(map(wire.encode, frames)))
            await peer.hear_of("welcome")
            await peer.hear_of("bye")
            return ours

    ours = asyncio.run(main())
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskExited]
    assert ours.lines() == ["x" * 50_000]


def test_tasks_that_told_of_no_end_are_known_and_their_last_lines_are_taken_in():
    async def main():
        async with launcher() as ours:
            async with connected(ours) as peer:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                assert ours.rendezvous.unreported() == []  # it had nothing to write yet
                ours.open.clear()
                peer.say(**READY)
                await ours.saw(TaskReady)
                assert ours.rendezvous.unreported() == [(TASK, 2)]
                for line in "abc":
                    peer.say(**output(line))
                peer.writer.write_eof()
                drain = asyncio.create_task(ours.rendezvous.drain())
                done, _ = await asyncio.wait({drain}, timeout=1.5)  # longer than without a reader
                assert not done and ours.rendezvous.is_busy
                ours.open.set()
                await asyncio.wait_for(drain, HANG)
                assert ours.lines() == ["a", "b", "c"]
                assert ours.rendezvous.unreported() == [(TASK, 5)]

    asyncio.run(main())


def test_a_task_that_reported_its_end_misses_nothing():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            for message in (REGISTER, READY, exit_report()):
                peer.say(**message)
            await ours.saw(TaskExited)
            assert ours.rendezvous.unreported() == []
            assert (ours.rendezvous.is_busy, ours.rendezvous.is_busy) == (True, False)

    asyncio.run(main())


@pytest.mark.parametrize(
    "message",
    [
        {"type": ["register"]},
        {"type": {}},
        {"type": None},
        {"type": "register", "host": 5, "port": 5},
        {"type": "register", "host": "h", "port": "5"},
        {"type": "register", "host": "h; reboot #", "port": 5},
        {"type": "register", "host": "", "port": 5},
        {"type": "register", "host": "h", "port": 65536},
        {"type": "output", "stream": "stdout", "text": [1], "dropped": 0},
        {"type": "exit", "code": None, "reason": "", "tail": []},
        {"type": "exit", "code": 10**30, "reason": "", "tail": []},
        {"type": "exit", "code": 10**4000, "reason": "", "tail": []},
        {"type": "heartbeat", "silent": 10**400},
        {"type": "heartbeat", "silent": 1e300},
    ],
)
def test_a_runner_that_talks_nonsense_loses_its_connection(message):
    async def main():
        async with launcher(grace=0) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**message)
            return await ours.saw(RunnerLost), len(ours.events)

    assert asyncio.run(main())[1] == 1


@pytest.mark.parametrize("code", [256, 512, -1, 2**31])
def test_an_exit_code_that_no_process_can_have_is_a_failure_with_its_words(code):
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**exit_report(code))
            await peer.hear_of("bye")
            return await ours.saw(TaskExited)

    ended = asyncio.run(main())
    assert ended.code == 1
    assert ended.reason == f"exited (not an exit code: {str(code)[:20]})"
