"""Stubs are sent the runner."""

from __future__ import annotations

import asyncio
import os
import tracemalloc

from tests.bounds import HANG
from tests.runners import RUN, SECRET, TASK, launcher
from tfmesos.node import stub

from .peers import Peer


async def ask_for_the_runner(ours, number=None) -> Peer:
    """A stub that has proved its secret and reads no further."""
    task = TASK if number is None else f"{TASK}-{number}"
    peer = Peer(*await asyncio.open_connection(*ours.address, limit=1))
    nonce = os.urandom(16).hex()
    peer.say(type="hello", run=RUN, task=task, nonce=nonce, runner="")
    (challenge,) = peer.decoder.feed(await peer.reader.readexactly(stub.CHALLENGE))
    said = (RUN, task, nonce, challenge["nonce"], challenge["runner"])
    assert challenge["proof"] == stub.prove(SECRET, "launcher", *said)
    peer.say(type="proof", proof=stub.prove(SECRET, "runner", *said), received=0)
    return peer


def test_what_is_sent_during_the_transfer_of_the_runner_comes_behind_it():
    code = os.urandom(20_000_000)  # more than sockets hold

    async def main():
        async with launcher(get_runners=lambda: {"": code}) as ours:
            peer = await ask_for_the_runner(ours)
            ours.send(type="start", number=1)
            size = int.from_bytes(await peer.reader.readexactly(4), "big")
            ours.send(type="stop", grace=1)
            arrived = await peer.reader.readexactly(size)
            welcome = await peer.hear()
            following = [await peer.hear() for _ in range(2)]
            peer.writer.transport.abort()
            return arrived, welcome, following

    arrived, welcome, following = asyncio.run(main())
    assert arrived == code
    assert (welcome["type"], welcome["received"]) == ("welcome", 0)
    assert [message["type"] for message in following if message["type"] != "ack"] == [
        "start",
        "stop",
    ]


def test_runners_under_way_take_no_memory_each():
    """They wait in pieces of 16 KiB; a copy of each would be 160 MB here."""
    code = bytes(20_000_000)

    async def main():
        async with launcher(get_runners=lambda: {"": code}) as ours:
            for number in range(9):
                ours.rendezvous.expect(f"{TASK}-{number}", SECRET)
            peers = [await ask_for_the_runner(ours, 0)]  # for which the one copy is made
            tracemalloc.start()
            peers += [await ask_for_the_runner(ours, number) for number in range(1, 9)]
            for peer in peers:  # the first bytes of the runner: the transfer has begun
                await peer.reader.readexactly(4)
            taken = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            for peer in peers:
                peer.writer.transport.abort()
            return taken

    assert asyncio.run(main()) < 10_000_000


def test_a_stub_that_does_not_take_its_runner_is_given_up(caplog, monkeypatch):
    async def main():
        complained = asyncio.Event()
        monkeypatch.setattr(caplog.handler, "flush", complained.set)
        async with launcher(get_runners=lambda: {"": bytes(20_000_000)}, silence=0.2) as ours:
            peer = await ask_for_the_runner(ours)
            await asyncio.wait_for(complained.wait(), HANG)
            peer.writer.transport.abort()
            return ours.events

    assert asyncio.run(main()) == []
    assert "did not fetch its runner" in caplog.text
