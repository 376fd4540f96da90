"""One runner over several connections, and one that is lost."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.clock import put_forward
from tests.runners import SECRET, TASK, launcher
from tests.sentences import names
from tfmesos.config.secret import Secret
from tfmesos.core.events import (
    RunnerBack,
    RunnerLost,
    RunnerOutOfTouch,
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.launcher.links.runner_link import MUCH
from tfmesos.shared import wire

from .peers import READY, REGISTER, connected, exit_report, output


def test_after_a_break_only_what_is_missing_is_sent_again():
    async def main():
        async with launcher() as ours:
            ours.send(type="start", number=1)
            async with connected(ours) as first:
                await first.join()
                assert (await first.hear_of("start"))["number"] == 1
                first.say(**REGISTER)
                first.say(**READY)
                await ours.saw(TaskReady)
            ours.send(type="stop", grace=1)
            async with connected(ours) as peer:
                assert await peer.join_again(first, received=1) == 2
                assert await peer.hear_of("stop") == {"type": "stop", "grace": 1}
                peer.say(**exit_report())
                await peer.hear_of("bye")
            async with connected(ours) as peer:  # the goodbye did not arrive
                assert await peer.join_again(first, received=2) == 3
                await peer.hear_of("bye")
            return ours

    kinds = [type(event) for event in asyncio.run(main()).events]
    assert kinds == [TaskRegistered, TaskReady, RunnerOutOfTouch, RunnerBack, TaskExited]


def test_an_encoded_message_is_sent_as_it_is():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            ours.rendezvous.send(TASK, wire.encode({"type": "start", "x": "y"}))
            ours.rendezvous.send("nobody", {"type": "stop"})
            return await peer.hear_of("start")

    assert asyncio.run(main()) == {"type": "start", "x": "y"}


def test_the_newest_connection_speaks_for_its_task():
    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            await old.join()
            old.say(**REGISTER)
            await ours.saw(TaskRegistered)
            assert await new.join_again(old) == 1
            assert await old.turned_away()
            new.say(**READY)
            await ours.saw(TaskReady)
            return ours.events

    assert len(asyncio.run(main())) == 2


def test_lines_keep_their_order_over_a_change_of_connection():
    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            ours.open.clear()
            await old.join()
            old.say(**REGISTER)
            old.say(**output("1"))
            await ours.saw(TaskRegistered)
            received = await new.join_again(old)
            assert received in (1, 2)
            for message in [output("1"), output("2"), exit_report()][received - 1 :]:
                new.say(**message)
            ours.open.set()
            await ours.saw(TaskExited)
            return ours.lines()

    assert asyncio.run(main()) == ["1", "2"]


def test_what_an_old_connection_had_yet_to_say_is_left_to_the_new_one():
    """Its last words were read together with the line that the screen is busy with."""

    async def main():
        async with launcher() as ours, connected(ours) as old, connected(ours) as new:
            ours.open.clear()
            await old.join()
            old.say(**REGISTER)
            stale = [READY, output("1"), exit_report(9)]
            old.writer.write(b"".join(map(wire.encode, stale)))
            await ours.saw(TaskReady)
            assert await new.join_again(old) == 3
            for message in (READY, READY, exit_report(0)):
                new.say(**message)
            ours.open.set()
            await ours.saw(TaskExited)
            return ours

    ours = asyncio.run(main())
    assert [event.code for event in ours.events if isinstance(event, TaskExited)] == [0]
    assert ours.lines() == ["1"]


def test_a_runner_that_does_not_come_back_is_lost():
    async def main():
        async with launcher(grace=0.1) as ours:
            async with connected(ours) as peer:
                await peer.join()
            return await ours.saw(RunnerLost)

    assert asyncio.run(main()) == RunnerLost(TASK, "its connection was closed")


def test_without_a_grace_time_it_is_lost_at_once():
    async def main():
        async with launcher(grace=0) as ours:
            async with connected(ours) as peer:
                await peer.join()
            return await ours.saw(RunnerLost)

    assert asyncio.run(main()).task_id == TASK


def test_a_runner_that_comes_back_in_time_is_not_lost():
    never = 10**9

    async def main():
        async with launcher(grace=1000, silence=never, heartbeat=never) as ours:
            async with connected(ours) as peer:
                await peer.join()
            async with connected(ours) as peer:
                await peer.join()
                # One that does get lost, to know that the time is over.
                ours.rendezvous.expect("other", SECRET)
                async with connected(ours) as other:
                    await other.join(task="other")
                await ours.until(lambda: RunnerOutOfTouch("other") in ours.events)
                put_forward(1000)
                await ours.saw(RunnerLost)
                return [(type(event), event.task_id) for event in ours.events]

    assert asyncio.run(main()) == [
        (RunnerOutOfTouch, TASK),
        (RunnerBack, TASK),
        (RunnerOutOfTouch, "other"),
        (RunnerLost, "other"),
    ]


def test_a_silent_runner_is_lost():
    async def main():
        async with launcher(grace=0, silence=0.1) as ours, connected(ours) as peer:
            await peer.join()
            return await ours.saw(RunnerLost)

    assert names(asyncio.run(main()).reason, "no message", "0.1 s")


def test_a_runner_is_not_silent_because_we_were_stopped_ourselves():
    async def main():
        async with launcher(grace=0, silence=0.2) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**output("1"))
            await peer.writer.drain()
            # Nothing of ours moves, as after a Ctrl-Z:
            asyncio.get_running_loop().call_soon(time.sleep, 0.5)
            await ours.until(lambda: ours.lines())
            assert ours.events == []

    asyncio.run(main())


def test_a_runner_that_only_waits_for_us_is_not_silent():
    async def main():
        async with launcher(grace=0, silence=0.1, heartbeat=0.05) as ours:
            async with connected(ours) as peer:
                ours.open.clear()
                await peer.join()
                peer.say(**output("1"))
                for _ in range(6):  # three times the silence, by our own heartbeats
                    await peer.hear_of("ack")
                assert ours.events == []
                ours.open.set()
                await ours.until(lambda: ours.lines())

    asyncio.run(main())


def test_a_runner_that_sends_much_is_told_what_arrived_long_before_its_room_is_full():
    async def main():
        async with launcher(heartbeat=600) as ours:
            async with connected(ours) as peer:
                await peer.join()
                for _ in range(40):
                    peer.say(**output("x"))
                await ours.until(lambda: len(ours.lines()) == 40)
                peer.say(**output("x"))  # in a read of its own: all before has been dealt with
                await ours.until(lambda: len(ours.lines()) == 41)
                ours.send(type="stop", grace=1)
                told = 0
                while (message := await peer.hear())["type"] == "ack":
                    told = message["received"]
                return told, message["type"]

    told, last = asyncio.run(main())
    assert told > 32 and last == "stop"


def test_settings_and_so_secrets_are_sent_until_the_runner_has_reported_and_never_again():
    async def main():
        async with launcher() as ours:
            ours.rendezvous.expect("other", SECRET, {"secrets": Secret("hush"), "port": 5})
            async with connected(ours) as peer:
                await peer.join(task="other")
                first = peer.welcome
            async with connected(ours) as peer:  # its answer was lost
                await peer.join(task="other")
                second = peer.welcome
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
            async with connected(ours) as again:
                await again.join_again(peer, task="other")
                return first, second, again.welcome

    first, second, third = asyncio.run(main())
    assert first["settings"] == second["settings"] == {"secrets": "hush", "port": 5}
    assert sorted(third) == ["received", "secret", "type"]


def test_a_runner_is_told_at_once_what_arrived_if_it_was_much_and_else_by_a_heartbeat():
    async def main():
        async with launcher(heartbeat=600) as ours:
            async with connected(ours) as peer:
                await peer.join()
                for number in range(2):
                    peer.say(**output("little"))
                    await ours.until(lambda number=number: len(ours.lines()) == number + 1)
                peer.say(**output("x" * MUCH))
                return await peer.hear_of("ack")

    assert asyncio.run(main())["received"] == 3


def test_a_forgotten_task_is_cut_off_and_reported_no_more():
    async def main():
        async with launcher(grace=0) as ours:
            async with connected(ours) as peer:
                await peer.join()
                ours.rendezvous.forget(TASK)
                ours.rendezvous.forget("nobody")
                with pytest.raises(EOFError):
                    await peer.hear_of("bye")
            async with connected(ours) as peer:
                with pytest.raises(EOFError):
                    await peer.join()
            return ours.events

    assert asyncio.run(main()) == []
