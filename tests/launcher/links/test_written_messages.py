"""Messages of runners that are acknowledged only after they are written down."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.bounds import HANG
from tests.runners import SECRET, TASK, TOLD, launcher
from tfmesos.core import events as happened
from tfmesos.launcher.links.exchange import Holder

from .peers import READY, REGISTER, connected, exit_report, output

LATER = b"l" * 32


@contextlib.asynccontextmanager
async def gated(**options):
    async with launcher(awaits_record=True, heartbeat=0.05, **options) as ours:
        ours.rendezvous.expect(TASK, SECRET, TOLD, LATER)
        yield ours


async def acked(peer, number):
    """Until the launcher has acknowledged so many messages; never more."""
    while (seen := (await peer.hear_of("ack"))["received"]) != number:
        assert seen < number


def test_nothing_is_acknowledged_before_it_is_written_down():
    async def main():
        async with gated() as ours, connected(ours) as peer:
            await peer.join()
            for message in (REGISTER, READY, output("one")):
                peer.say(**message)
            await ours.saw(happened.TaskReady)
            for _ in range(3):
                assert (await peer.hear_of("ack"))["received"] == 0
            ours.rendezvous.recorded({TASK: 2})
            await acked(peer, 2)
            ours.rendezvous.recorded({TASK: 3})
            await acked(peer, 3)

    asyncio.run(main())


def test_a_runner_is_let_go_when_its_last_word_is_written_down():
    async def main():
        async with gated() as ours, connected(ours) as peer:
            await peer.join()
            for message in (REGISTER, exit_report()):
                peer.say(**message)
            await ours.saw(happened.TaskExited)
            leaving = asyncio.ensure_future(ours.rendezvous.hear_out(60))
            assert [(await peer.hear())["type"] for _ in range(3)] == ["ack"] * 3
            assert not leaving.done()
            ours.rendezvous.recorded({TASK: 2})
            await peer.hear_of("bye")
            await asyncio.wait_for(leaving, HANG)

    asyncio.run(main())


def test_a_launcher_that_leaves_does_not_wait_for_a_runner_that_has_left():
    async def main():
        async with gated() as ours:
            async with connected(ours) as peer:
                await peer.join()
                for message in (REGISTER, exit_report()):
                    peer.say(**message)
                await ours.saw(happened.TaskExited)
            await asyncio.wait_for(ours.rendezvous.hear_out(3600), HANG)

    asyncio.run(main())


def test_what_is_sent_again_because_it_was_not_written_down_is_taken_once():
    async def main():
        async with gated() as ours:
            async with connected(ours) as peer:
                await peer.join()
                for message in (REGISTER, READY, output("one"), output("two")):
                    peer.say(**message)
                await ours.saw(happened.TaskReady)
                ours.rendezvous.recorded({TASK: 2})
                await acked(peer, 2)
            async with connected(ours) as again:
                assert await again.join_again(peer) == 2
                for message in (output("one"), output("two"), output("three"), exit_report()):
                    again.say(**message)
                await ours.saw(happened.TaskExited)
                ours.rendezvous.recorded({TASK: 6})
                await again.hear_of("bye")
            return ours.lines()

    assert asyncio.run(main()) == ["one", "two", "three"]


def test_a_launcher_that_takes_over_hears_the_rest_and_no_report_twice():
    """The end was acted on; output before it was not written down."""

    async def main():
        async with gated(holder=Holder(2, "here (pid 2)")) as ours, connected(ours) as peer:
            for event in (
                happened.TaskRegistered(TASK, "10.0.0.1:5", 5),
                happened.TaskReady(TASK),
                happened.TaskExited(TASK, 0, "exited with 0"),
            ):
                ours.rendezvous.recall(event)
            ours.rendezvous.resume({TASK: (2, False)})
            assert await peer.join(secret=LATER, again=True) == 2
            assert (peer.welcome["epoch"], peer.welcome["holder"]) == (2, "here (pid 2)")
            peer.say(**output("late"))
            peer.say(**exit_report())
            hearing = asyncio.ensure_future(ours.rendezvous.hear_out(60))
            while not hearing.done():
                ours.rendezvous.recorded({TASK: 4})
                await asyncio.sleep(0.01)
            await peer.hear_of("bye")
            return ours.lines(), [type(event) for event in ours.events]

    text, seen = asyncio.run(main())
    assert text == ["late"]
    assert happened.TaskExited not in seen and happened.TaskReady not in seen


def test_a_runner_that_does_not_come_back_after_a_take_over_is_lost():
    async def main():
        async with gated(grace=0.2) as ours:
            ours.rendezvous.recall(happened.TaskRegistered(TASK, "10.0.0.1:5", 5))
            ours.rendezvous.resume({})
            await ours.saw(happened.RunnerOutOfTouch)
            return await ours.saw(happened.RunnerLost)

    assert "to the new launcher" in asyncio.run(main()).reason


@pytest.mark.parametrize("is_all", [False, True])
def test_who_has_said_all_is_let_go_at_once(is_all):
    async def main():
        async with gated() as ours, connected(ours) as peer:
            ours.rendezvous.recall(happened.TaskRegistered(TASK, "10.0.0.1:5", 5))
            ours.rendezvous.recall(happened.TaskExited(TASK, 0, "exited with 0"))
            ours.rendezvous.resume({TASK: (2, is_all)})
            await peer.join(secret=LATER, again=True, received=0)
            return {(await peer.hear())["type"] for _ in range(3)}

    assert ("bye" in asyncio.run(main())) is is_all


def test_a_past_that_lacks_what_is_written_down_of_its_runners_is_known_by_that():
    async def main():
        async with gated() as ours:
            lacking = ours.rendezvous.lacking
            nothing_yet = lacking({TASK: (0, False)}), lacking({TASK: (1, False)})
            ours.rendezvous.recall(happened.TaskRegistered(TASK, "10.0.0.1:5", 5))
            registered = lacking({TASK: (9, False)}), lacking({TASK: (9, True)})
            ours.rendezvous.recall(happened.TaskExited(TASK, 0, "exited with 0"))
            return *nothing_yet, *registered, lacking({TASK: (9, True), "another": (1, False)})

    assert asyncio.run(main()) == ([], [TASK], [], [TASK], ["another"])


def test_a_runner_that_has_had_more_than_the_past_tells_is_not_let_in():
    missed = []

    async def main():
        async with gated(lacks_past=missed.append) as ours, connected(ours) as peer:
            ours.rendezvous.recall(happened.TaskRegistered(TASK, "10.0.0.1:5", 5))
            ours.rendezvous.resume({TASK: (1, False)})
            with pytest.raises(EOFError):
                await peer.join(secret=LATER, again=True, received=1)
            assert not ours.rendezvous.is_connected(TASK)

    asyncio.run(main())
    assert missed == [TASK]
