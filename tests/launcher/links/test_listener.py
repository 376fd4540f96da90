"""Leaving the listener closes all, and hides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc

import pytest

from tests.conftest import open_sockets
from tests.runners import TASK, launcher
from tfmesos.core.events import TaskExited, TaskRegistered
from tfmesos.launcher.links import listener as module
from tfmesos.shared import wire

from .peers import REGISTER, connected, exit_report, output


def test_leaving_closes_every_connection_and_leaves_no_task():
    async def main():
        before = open_sockets()
        async with contextlib.AsyncExitStack() as stack:
            async with launcher() as ours:
                peer, stranger = [await stack.enter_async_context(connected(ours)) for _ in "12"]
                await peer.join()
            assert await peer.turned_away() and await stranger.turned_away()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await asyncio.sleep(0)  # lets the transports close
        gc.collect()
        assert open_sockets() == before

    asyncio.run(main())


def test_leaving_does_not_wait_for_a_screen_that_hangs():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            ours.open.clear()
            await peer.join()
            peer.say(**REGISTER)
            peer.say(**output("1"))
            await ours.saw(TaskRegistered)
        return ours.events

    assert len(asyncio.run(main())) == 1


def test_leaving_does_not_wait_for_a_runner_that_does_not_read(monkeypatch):
    monkeypatch.setattr(module, "FLUSH", 0.1)

    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            peer.writer.transport.pause_reading()
            ours.send(type="start", text="x" * 15_000_000)

    asyncio.run(main())


def test_a_cancelled_run_closes_everything():
    async def main():
        async def life():
            async with launcher() as ours:
                addresses.append(ours.address)
                async with connected(ours) as peer:
                    await peer.join()
                    joined.set()
                    await asyncio.Event().wait()

        addresses: list[tuple[str, int]] = []
        joined = asyncio.Event()
        task = asyncio.create_task(life())
        await joined.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*addresses[0])

    asyncio.run(main())


def test_an_error_of_the_run_comes_out_as_it_is():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


class Faulty(list):
    def append(self, event):
        raise ZeroDivisionError


def test_a_fault_in_what_listens_to_events_is_not_hidden():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            ours.events = Faulty()
            await peer.join()
            peer.say(**REGISTER)
            await asyncio.Event().wait()

    with pytest.raises(BaseExceptionGroup) as caught:
        asyncio.run(main())
    assert caught.group_contains(ZeroDivisionError)


def test_a_runner_that_was_given_up_is_cut_off_and_comes_back_with_no_secret_it_has():
    async def main():
        async with launcher() as ours, connected(ours) as peer, connected(ours) as first:
            await peer.join()
            peer.say(**REGISTER)
            await ours.saw(TaskRegistered)
            ours.rendezvous.start(TASK, wire.encode({"type": "start"}))
            ours.rendezvous.refuse(TASK)
            assert await peer.turned_away()
            async with connected(ours) as again:
                with pytest.raises((EOFError, ConnectionError)):
                    await again.join_again(peer)
            with pytest.raises((EOFError, ConnectionError)):
                await first.join()
            assert ours.rendezvous.unreported() == [(TASK, 1)]  # its output is still missing
        return [event for event in ours.events if not isinstance(event, TaskRegistered)]

    assert asyncio.run(main()) == []


def test_a_runner_that_has_reported_its_end_may_still_hear_that_this_is_known():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            peer.say(**REGISTER)
            peer.say(**exit_report(137))
            await ours.saw(TaskExited)
            ours.rendezvous.refuse(TASK)
            async with connected(ours) as again:
                await again.join_again(peer)
                await again.hear_of("bye")

    asyncio.run(main())
