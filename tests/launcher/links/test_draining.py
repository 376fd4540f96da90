"""The last output of tasks whose runner has told of no end."""

from __future__ import annotations

import asyncio

from tests.bounds import HANG
from tests.runners import TASK, launcher
from tfmesos.core.events import RunnerOutOfTouch
from tfmesos.launcher.links import draining

from .peers import READY, REGISTER, connected, output


async def begun(ours, peer):
    """A task that runs and has written its first line."""
    await peer.join()
    for message in (REGISTER, READY, output("first")):
        peer.say(**message)
    await ours.until(lambda: ours.lines())


def test_a_runner_that_goes_on_writing_is_not_listened_to_for_ever(monkeypatch):
    monkeypatch.setattr(draining, "LOOK_EVERY", 0.01)

    async def write(peer):
        while True:
            peer.say(**output("more"))
            await asyncio.sleep(0.005)

    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await begun(ours, peer)
            writing = asyncio.create_task(write(peer))
            async with asyncio.timeout(HANG):
                await ours.rendezvous.drain()
            assert ours.rendezvous.is_connected(TASK)
            writing.cancel()
            return ours.lines()

    assert asyncio.run(main())[:2] == ["first", "more"]


def test_nothing_is_acknowledged_meanwhile_so_that_a_runner_sends_no_more_than_it_holds():
    async def main():
        async with launcher(heartbeat=0.01) as ours, connected(ours) as peer:
            await begun(ours, peer)
            while (await peer.hear())["received"] < 3:
                pass  # acks of what came before
            drained = asyncio.create_task(ours.rendezvous.drain())
            await asyncio.sleep(0)
            heard = len(peer.messages)
            for _ in range(20):
                peer.say(**output("more"))
            await ours.until(lambda: len(ours.lines()) == 21)
            await drained
            peer.writer.write_eof()
            later = [*peer.messages[heard:], *peer.decoder.feed(await peer.reader.read())]
            assert all(message["received"] == 3 for message in later)

    asyncio.run(main())


def test_a_screen_that_is_slow_is_waited_for(monkeypatch):
    monkeypatch.setattr(draining, "LOOK_EVERY", 0.001)

    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await begun(ours, peer)
            ours.open.clear()
            peer.say(**output("second"))
            drained = asyncio.create_task(ours.rendezvous.drain())
            await asyncio.sleep(0.5)  # many times what is waited for a runner
            assert not drained.done()
            ours.open.set()
            async with asyncio.timeout(HANG):
                await drained
            return ours.lines()

    assert asyncio.run(main()) == ["first", "second"]


def test_a_runner_that_is_gone_is_not_waited_for():
    async def main():
        async with launcher() as ours:
            async with connected(ours) as peer:
                await begun(ours, peer)
            await ours.saw(RunnerOutOfTouch)
            assert ours.rendezvous.unreported() == [(TASK, 3)]
            drained = asyncio.create_task(ours.rendezvous.drain())
            await asyncio.sleep(0)
            assert drained.done()

    asyncio.run(main())
