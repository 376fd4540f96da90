"""The launcher's side of a connection that has proved nothing yet."""

import asyncio
import hashlib
import socket
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tfmesos.errors import FrameError, HandshakeError
from tfmesos.launcher.links.authentication import PIECE, Authentication
from tfmesos.shared import wire
from tfmesos.shared.handshake import RunnerHandshake

SECRET, RUNNER = b"s" * 32, bytes(range(256)) * 1024
RUNNERS = {"": RUNNER, "ours": b"compiled"}


@asynccontextmanager
async def connection():
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    peer, speak = await asyncio.open_connection(sock=theirs, limit=4096)
    try:
        yield reader, writer, peer, speak
    finally:
        for one in (writer, speak):
            one.close()


def prove(story, secret=SECRET, get_runners=lambda: RUNNERS):
    """What *story*, at the other end, gets out of us."""

    async def main():
        ours = Authentication("run", lambda task, again: secret, get_runners)
        decoder = wire.FrameDecoder()
        async with asyncio.timeout(HANG), connection() as (reader, writer, peer, speak):
            proving = asyncio.create_task(ours.prove(reader, writer, decoder))
            await story(peer, speak)
            return *await proving, decoder

    return asyncio.run(main())


async def answer(peer):
    length = int.from_bytes(await peer.readexactly(4), "big")
    return wire.decode(await peer.readexactly(length))


def proving(received=7, **hello):
    runner = RunnerHandshake(SECRET, "run", "task", b"R" * 16)

    async def story(peer, speak):
        speak.write(wire.encode({**runner.hello(), **hello}))
        challenge = await answer(peer)
        story.offered = challenge.pop("runner", None)
        if not hello:
            speak.write(wire.encode({**runner.feed(challenge), "received": received}))
        speak.write_eof()

    return story


def test_who_proves_the_secret_is_known_and_may_send_long_frames():
    handshake, received, decoder = prove(proving())
    assert (handshake.done, handshake.task, received) == (True, "task", 7)
    assert decoder.limit == wire.MAX_FRAME


@pytest.mark.parametrize("python, runner", [("ours", b"compiled"), ("3.x", RUNNER), ("", RUNNER)])
def test_a_stub_is_offered_the_hash_of_the_runner_for_its_python(python, runner):
    story = proving(runner=python)
    with pytest.raises(HandshakeError, match=r"^it disconnected before it had authenticated$"):
        prove(story)
    assert story.offered == hashlib.sha256(runner).hexdigest()


def test_no_runner_is_packed_before_a_stub_asks_for_one():
    """Those of one machine are forked from a parent that has it all."""
    packed = []

    def get_runners():
        packed.append(RUNNERS)
        return RUNNERS

    prove(proving(), get_runners=get_runners)
    assert packed == []
    for _ in range(2):
        with pytest.raises(HandshakeError):
            prove(proving(runner="ours"), get_runners=get_runners)
    assert packed == [RUNNERS, RUNNERS]


def test_another_secret_opens_nothing():
    with pytest.raises(HandshakeError, match="did not prove the secret"):
        prove(proving(), secret=b"x" * 32)


def test_before_the_proof_long_frames_are_refused():
    async def story(peer, speak):
        speak.write((wire.MAX_GREETING + 1).to_bytes(4, "big"))

    with pytest.raises(FrameError, match="4097 bytes"):
        prove(story)


def test_a_proof_without_a_count_is_none():
    with pytest.raises(FrameError, match="'proof' with a negative 'received'"):
        prove(proving(received=-1))


def test_each_connection_has_a_nonce_of_its_own():
    nonces = []
    runner = RunnerHandshake(SECRET, "run", "task", b"R" * 16)

    async def story(peer, speak):
        speak.write(wire.encode(runner.hello()))
        nonces.append((await answer(peer))["nonce"])
        speak.write_eof()

    for _ in range(2):
        with pytest.raises(HandshakeError):
            prove(story)
    assert len(set(nonces)) == 2


def test_the_runner_is_one_frame_in_pieces():
    assert len(RUNNER) > 2 * PIECE

    async def main():
        ours = Authentication("run", lambda task, again: SECRET, lambda: RUNNERS)
        async with asyncio.timeout(HANG), connection() as (_, writer, peer, _speak):
            sending = asyncio.create_task(ours.send_runner(writer, "3.x", 60.0))
            length = int.from_bytes(await peer.readexactly(4), "big")
            sent = await peer.readexactly(length)
            await sending
            return sent, writer.transport.get_write_buffer_limits()

    assert asyncio.run(main()) == (RUNNER, (0, 1))


def test_who_does_not_take_its_runner_is_given_up():
    async def main():
        ours = Authentication(
            "run", lambda task, again: SECRET, lambda: {"": bytes(8 * 1024 * 1024)}
        )
        async with connection() as (_, writer, _peer, _speak):
            try:
                await ours.send_runner(writer, "3.x", 0.1)
            finally:
                writer.transport.abort()

    with pytest.raises(HandshakeError, match=r"^it did not fetch its runner"):
        asyncio.run(main())
