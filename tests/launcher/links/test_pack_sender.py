"""A runner is sent the pack it asks for, from where it has it, and others do not wait for that."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.launcher.links.peers import REGISTER, connected, exit_report
from tests.packs import packed, write
from tests.runners import TASK, launcher
from tfmesos.core.events import RunnerLost, TaskRegistered
from tfmesos.launcher.links import pack_sender as sender


@pytest.fixture
def pack(tmp_path):
    return packed(write(tmp_path / "source", noise_bin=os.urandom(3_000_000), train_py="x"))


async def take(peer, size):
    """So many bytes of pieces, in their order."""
    data = b""
    while len(data) < size:
        data += (await peer.hear_of("piece"))["data"]
    return data


def test_a_runner_is_sent_what_it_asks_for_from_where_it_asks(pack):
    async def main():
        sent = {}
        options = {"packs": {"ship": pack}, "on_sent": sent.__setitem__}
        async with launcher(**options) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(type="fetch", pack="ship", at=1_000_000)
            return await take(peer, pack.size - 1_000_000), sent

    data, sent = asyncio.run(main())
    assert data == pack.read(1_000_000, pack.size)
    assert sent == {TASK: pack.size}


def test_no_piece_is_larger_than_what_may_be_in_memory(pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(type="fetch", pack="ship", at=0)
            sizes = []
            while sum(sizes) < pack.size:
                sizes.append(len((await peer.hear_of("piece"))["data"]))
            return sizes

    assert max(asyncio.run(main())) == sender.PIECE


def test_a_stop_does_not_wait_for_the_rest_of_a_pack(pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(type="fetch", pack="ship", at=0)
            await take(peer, 1)
            ours.send(type="stop", grace=0)
            pieces = 0
            while (message := await peer.hear())["type"] != "stop":
                pieces += message["type"] == "piece"
            return pieces * sender.PIECE

    assert asyncio.run(main()) < pack.size


def test_a_runner_that_takes_nothing_holds_up_no_other_and_costs_one_piece(pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours, connected(ours) as lazy:
            await lazy.join()
            lazy.writer.transport.pause_reading()
            for _ in range(5):  # asking again does not add to it
                lazy.say(type="fetch", pack="ship", at=0)
            ours.rendezvous.expect("other", bytes(32))
            async with connected(ours) as other:
                await other.join(task="other", secret=bytes(32))
                other.say(type="fetch", pack="ship", at=0)
                assert len(await take(other, pack.size)) == pack.size
                other.say(**REGISTER)
                await ours.saw(TaskRegistered)
            links = ours.rendezvous._links
            return links[TASK].writer.transport.get_write_buffer_size()

    assert asyncio.run(main()) <= 2 * sender.PIECE


def test_a_runner_that_takes_nothing_for_too_long_counts_as_lost(pack):
    async def main():
        async with launcher(packs={"ship": pack}, silence=0.2, grace=0) as ours:
            async with connected(ours) as lazy:
                await lazy.join()
                lazy.writer.transport.pause_reading()
                lazy.say(type="fetch", pack="ship", at=0)
                await ours.saw(RunnerLost)

    asyncio.run(main())


def test_nothing_more_is_sent_after_the_end_was_reported(pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(type="fetch", pack="ship", at=0)
            peer.say(**exit_report(1))
            pieces = 0
            while (message := await peer.hear())["type"] != "bye":
                pieces += message["type"] == "piece"
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(peer.hear_of("piece"), 0.2)
            return pieces

    assert asyncio.run(main()) * sender.PIECE < pack.size


@pytest.mark.parametrize(
    "question",
    [{"pack": "other", "at": 0}, {"pack": "ship", "at": -1}, {"pack": "ship"}, {"at": 0}],
)
def test_a_question_that_is_none_ends_the_connection(pack, question):
    async def main():
        async with launcher(packs={"ship": pack}, grace=0) as ours, connected(ours) as peer:
            await peer.join()
            peer.say(type="fetch", **question)
            assert await peer.turned_away()
            return (await ours.saw(RunnerLost)).reason

    assert asyncio.run(main())


def test_whoever_knows_only_the_first_secret_is_sent_nothing_once_the_runner_was_here(pack):
    async def main():
        async with launcher(packs={"ship": pack}) as ours:
            async with connected(ours) as peer:
                await peer.join()
                peer.say(type="fetch", pack="ship", at=0)
                await take(peer, 1)
                async with connected(ours) as thief:
                    with pytest.raises(EOFError):
                        await thief.join()
                return await take(peer, 100_000)

    assert len(asyncio.run(main())) >= 100_000
