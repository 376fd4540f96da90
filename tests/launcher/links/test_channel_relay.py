"""Channels between the owner of a run and a runner, who may both misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import socket

import pytest

from tests.bounds import HANG
from tests.runners import TASK, launcher
from tfmesos.launcher.links.channel_relay import LOST, MOST
from tfmesos.shared import wire
from tfmesos.shared.channel import TASK_ENDED, WINDOW

from .peers import READY, REGISTER, Peer, connected, exit_report


@contextlib.asynccontextmanager
async def owner(ours, request=None):
    """The owner's end of a channel into the one task."""
    here, there = socket.socketpair()
    streams = await asyncio.open_connection(sock=there)
    serving = asyncio.create_task(
        ours.rendezvous.serve_owner(TASK, request or {"do": "exec"}, *streams)
    )
    reader, writer = await asyncio.open_connection(sock=here)
    try:
        yield Peer(reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.wait_for(serving, HANG)
        streams[1].close()


def with_both(work):
    """Call *work* with the owner's end and the runner's, of a channel that is open."""

    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            async with owner(ours, {"do": "exec", "argv": ["ls"]}) as caller:
                opened = await peer.hear_of("open")
                assert opened["request"] == {"do": "exec", "argv": ["ls"]}
                return await work(ours, caller, peer, opened["channel"])

    return asyncio.run(main())


def test_data_credit_ends_and_results_pass_both_ways():
    async def work(_, caller, peer, number):
        caller.say(type="credit", channel=0, bytes=10)
        caller.writer.write(wire.encode_data(0, 0, b"in"))
        caller.say(type="eof", channel=0)
        caller.say(type="resize", channel=0, rows=3, columns=4)
        heard = [await peer.hear_of(kind) for kind in ("credit", "data", "eof", "resize")]
        assert {one["channel"] for one in heard} == {number}
        assert (heard[1]["data"], heard[3]["rows"]) == (b"in", 3)
        peer.writer.write(wire.encode_data(number, 2, b"out"))
        peer.say(type="credit", channel=number, bytes=7)
        peer.say(type="done", channel=number, code=9, problem="why")
        data, credit, done = [await caller.hear() for _ in range(3)]
        assert (data["stream"], data["data"], credit["bytes"]) == (2, b"out", 7)
        assert (done["code"], done["problem"]) == (9, "why")

    with_both(work)


def test_a_runner_that_sends_without_credit_loses_its_connection_and_nobody_else_does():
    async def work(_, caller, peer, number):
        caller.say(type="credit", channel=0, bytes=1)
        await peer.hear_of("credit")
        peer.writer.write(wire.encode_data(number, 1, b"12"))
        assert (await caller.hear())["problem"] == LOST
        return await peer.turned_away()

    assert with_both(work)


def test_an_owner_that_grants_too_much_or_talks_nonsense_is_told_and_the_runner_hears_the_end():
    for nonsense in (
        {"type": "credit", "channel": 0, "bytes": 3 * WINDOW},
        {"type": "open", "channel": 0, "request": {}},
        {"type": "credit", "channel": 0, "bytes": -1},
    ):

        async def work(_, caller, peer, number, nonsense=nonsense):
            caller.say(**nonsense)
            assert (await caller.hear())["type"] == "done"
            caller.writer.transport.abort()
            assert (await peer.hear_of("close"))["channel"] == number

        with_both(work)


@pytest.mark.parametrize("said, why", [([], LOST), ([REGISTER, READY, exit_report()], TASK_ENDED)])
def test_the_owner_hears_why_a_channel_is_over_when_the_run_ends(said, why):
    async def main():
        run = contextlib.AsyncExitStack()
        ours = await run.enter_async_context(launcher())
        async with connected(ours) as peer:
            await peer.join()
            async with owner(ours) as caller:
                await peer.hear_of("open")
                for message in said:
                    peer.say(**message)
                peer.say(type="credit", channel=1, bytes=1)
                assert (await caller.hear())["type"] == "credit"  # all of it has arrived
                await run.aclose()
                return await caller.hear()

    done = asyncio.run(main())
    assert (done["type"], done["code"], done["problem"]) == ("done", 1, why)


def test_the_runner_hears_when_the_owner_leaves():
    async def work(_, caller, peer, number):
        caller.writer.transport.abort()
        assert (await peer.hear_of("close"))["channel"] == number

    with_both(work)


def test_the_runner_hears_when_the_owner_leaves_and_has_not_read_all():
    async def work(_, caller, peer, number):
        caller.writer.transport.pause_reading()
        peer.say(type="credit", channel=number, bytes=1)
        peer.say(type="eof", channel=number)
        await asyncio.sleep(0)
        caller.say(type="credit", channel=0, bytes=1)
        await peer.hear_of("credit")
        caller.writer.transport.abort()
        assert (await peer.hear_of("close"))["channel"] == number

    with_both(work)


def test_a_runner_speaks_only_for_channels_of_its_own():
    async def work(_, caller, peer, number):
        peer.say(type="done", channel=number + 1, code=0, problem="")
        peer.say(type="done", channel=number, code=4, problem="")
        assert (await caller.hear())["code"] == 4

    with_both(work)


def test_there_are_only_so_many_and_none_without_a_connection():
    async def main():
        async with launcher() as ours, contextlib.AsyncExitStack() as stack:
            async with owner(ours) as early:
                assert (await early.hear())["type"] == "done"
            peer = await stack.enter_async_context(connected(ours))
            await peer.join()
            for _ in range(MOST):
                await stack.enter_async_context(owner(ours))
                await peer.hear_of("open")
            async with owner(ours) as late:
                assert str(MOST) in (await late.hear())["problem"]

    asyncio.run(main())
