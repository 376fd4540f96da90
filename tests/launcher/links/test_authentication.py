"""Only who proves the secret of a task speaks for it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket

import pytest

from tests.runners import RUN, TASK, Proxy, launcher, runner, settings
from tfmesos.core.events import (
    TaskExited,
    TaskRegistered,
)
from tfmesos.errors import HandshakeError
from tfmesos.shared import wire
from tfmesos.shared.handshake import RunnerHandshake

from .peers import REGISTER, connected


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
        b"\0\0\0\2[]",
        b"\0\0\0\2{}",
        b"\xff\xff\xff\xff",
        wire.encode({"type": "proof", "proof": "0" * 64, "received": 0}),
        wire.encode(REGISTER),
        os.urandom(5000),
    ],
    ids=["http", "tls", "list", "empty", "huge", "proof", "register", "random"],
)
def test_strangers_are_turned_away_and_change_nothing(data):
    async def main():
        async with launcher() as ours:
            async with connected(ours) as peer:
                await peer.join()
                async with connected(ours) as stranger:
                    stranger.writer.write(data)
                    stranger.writer.write_eof()
                    assert await stranger.turned_away()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                return ours.events

    assert len(asyncio.run(main())) == 1


def test_a_port_scanner_is_harmless():
    async def main():
        async with launcher() as ours:
            for _ in range(50):
                with socket.create_connection(ours.address):
                    pass
            async with connected(ours) as peer:
                await peer.join()
            return ours.events

    assert asyncio.run(main()) == []


def test_a_stranger_who_says_nothing_is_turned_away_in_time():
    async def main():
        async with launcher(handshake=0.1) as ours, connected(ours) as stranger:
            return await stranger.turned_away()

    assert asyncio.run(main())


def test_the_secret_of_the_environment_opens_the_door_until_the_runner_has_reported():
    """Operators of Mesos can see it there. A welcome that got lost must not lock the runner out."""

    async def main():
        async with launcher() as ours:
            for _ in range(2):
                async with connected(ours) as peer:
                    await peer.join()
            async with connected(ours) as peer, connected(ours) as thief:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
                with pytest.raises(EOFError):
                    await thief.join()
                with pytest.raises(EOFError):
                    await thief.join(again=True)
            async with connected(ours) as back:
                return await back.join_again(peer)

    assert asyncio.run(main()) == 1


def test_a_task_cannot_speak_for_another_one():
    async def main():
        async with launcher() as ours, connected(ours) as peer, connected(ours) as liar:
            assert ours.rendezvous.expect("other") != ours.rendezvous.expect("third")
            await peer.join()
            with pytest.raises(HandshakeError):
                await liar.join(task="other")

    asyncio.run(main())


def test_somebody_with_another_secret_is_turned_away():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            peer.say(**RunnerHandshake(b"x", RUN, TASK, os.urandom(16)).hello())
            challenge = await peer.hear()
            peer.say(type="proof", proof=challenge["proof"], received=0)
            return await peer.turned_away(), ours.events

    assert asyncio.run(main()) == (True, [])


def test_a_recording_of_a_runner_does_not_open_the_door(tmp_path):
    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                ours.start(["true"])
                await ours.saw(TaskExited)
                await theirs.exited()
            before = list(ours.events)
            async with connected(ours) as thief:
                thief.writer.write(proxy.recorded)
                thief.writer.write_eof()
                with contextlib.suppress(ConnectionError, EOFError):
                    while (await thief.hear())["type"] == "challenge":
                        pass
                    pytest.fail("the thief was welcome")
            assert ours.events == before
            return proxy.recorded

    assert b'"proof"' in asyncio.run(main())


def test_many_strangers_do_not_keep_a_runner_out():
    async def main():
        endless = {"handshake": 3600}  # else all would be turned away in a while
        async with (
            launcher(strangers=5, **endless) as ours,
            contextlib.AsyncExitStack() as stack,
        ):
            crowd = [await stack.enter_async_context(connected(ours)) for _ in range(50)]
            async with connected(ours) as peer:
                await peer.join()
                peer.say(**REGISTER)
                await ours.saw(TaskRegistered)
            return [await crowd[at].turned_away() for at in range(40)]

    assert all(asyncio.run(main()))


def test_a_runner_that_is_in_stays_whoever_comes_after_it():
    async def main():
        async with launcher(strangers=1) as ours, contextlib.AsyncExitStack() as stack:
            runner = await stack.enter_async_context(connected(ours))
            await runner.join()
            crowd = [await stack.enter_async_context(connected(ours)) for _ in range(5)]
            await crowd[0].turned_away()
            runner.say(**REGISTER)
            await ours.saw(TaskRegistered)
            return ours.events

    assert [type(event) for event in asyncio.run(main())] == [TaskRegistered]


def test_the_log_speaks_of_strangers_now_and_then_only(caplog):
    async def main():
        async with launcher() as ours:
            for _ in range(20):
                async with connected(ours) as stranger:
                    stranger.writer.write(b"\xff" * 10)
                    await stranger.turned_away()

    with caplog.at_level(logging.INFO):
        asyncio.run(main())
    assert len(caplog.records) == 1
