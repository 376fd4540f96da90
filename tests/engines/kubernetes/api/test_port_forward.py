"""Connections into pods through a websocket: as recorded, broken, and of servers that lie."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack

import pytest

from tests.bounds import HANG
from tests.descriptors import descriptors_left
from tfmesos.engines.kubernetes.api import port_forward
from tfmesos.engines.kubernetes.api.error import ApiError, NotKubernetes, Unreachable

from ..servers import accept_websocket, frame, read_frame, recorded, scripted

PORTS = frame(b"\x00\x61\x1e") + frame(b"\x01\x61\x1e")
CLOSE = frame(b"\x03\xe8", 8)


def received(said):
    """The frames that a genuine server sent, of one conversation after another."""
    conversations = []
    for it in said:
        if "GET" in it:
            conversations.append([])
        elif "received" in it:
            got = it["received"]
            conversations[-1].append(frame(bytes.fromhex(got["hex"]), got["opcode"]))
    return conversations


async def recv(connection: socket.socket, size: int = 65536) -> bytes:
    connection.setblocking(False)
    async with asyncio.timeout(HANG):
        return await asyncio.get_running_loop().sock_recv(connection, size)


async def read_all(connection: socket.socket) -> bytes:
    data = b""
    while piece := await recv(connection):
        data += piece
    return data


def dialled(certificate, converse, use):
    """What *use* makes of the connection to a server that is *converse*."""

    async def main():
        async with scripted(converse, certificate) as client:
            with await client.dial("x", 7777) as connection:
                return await use(connection)

    return asyncio.run(main())


def saying(*frames, then=None):
    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        for one in frames:
            writer.write(one)
        await writer.drain()
        await (then or reader.read)()

    return converse


def test_what_a_genuine_server_sent_arrives_without_its_port_and_ends(certificate):
    frames = received(recorded("portforward"))[0]
    assert dialled(certificate, saying(*frames), read_all) == b"got hello"


def test_nobody_listening_in_the_pod_is_a_connection_that_is_refused(certificate):
    frames = received(recorded("portforward"))[1]
    with pytest.raises(ConnectionRefusedError, match=r"port 7777 of pod x: .*refused"):
        dialled(certificate, saying(*frames), read_all)


def test_the_question_names_port_and_subprotocol_and_shows_who_we_are(certificate):
    seen = {}

    async def converse(reader, writer):
        seen.update(await accept_websocket(reader, writer))
        writer.write(PORTS + frame(b"\x00hello") + CLOSE)

    assert dialled(certificate, converse, read_all) == b"hello"
    assert seen[""] == "GET /api/v1/namespaces/tests/pods/x/portforward?ports=7777 HTTP/1.1"
    assert seen["sec-websocket-protocol"] == "v4.channel.k8s.io"
    assert seen["authorization"].startswith("Bearer ") and seen["accept"] == "*/*"


def test_bytes_go_both_ways_and_closing_our_side_closes_theirs(certificate):
    got = []

    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS + frame(b"\x00hello"))
        while (one := await read_frame(reader))[0] != 8:
            got.append(one)
            writer.write(frame(one[1]))
        got.append(one)

    async def use(connection):
        assert await recv(connection) == b"hello"
        connection.sendall(b"again")
        return await recv(connection)

    assert dialled(certificate, converse, use) == b"again"


def test_a_ping_is_answered(certificate):
    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS + frame(b"there?", 9))
        assert await read_frame(reader) == (10, b"there?")
        writer.write(frame(b"\x00answered") + CLOSE)

    assert dialled(certificate, converse, read_all) == b"answered"


def test_a_pod_that_says_nothing_at_first_is_connected_all_the_same(certificate, monkeypatch):
    monkeypatch.setattr(port_forward, "SETTLE", 0.05)

    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS)
        assert await read_frame(reader) == (2, b"\x00first")
        writer.write(frame(b"\x00second") + CLOSE)

    async def use(connection):
        connection.sendall(b"first")
        return await read_all(connection)

    assert dialled(certificate, converse, use) == b"second"


def test_a_server_that_is_spoken_to_first_is_not_waited_for(certificate, monkeypatch):
    monkeypatch.setattr(port_forward, "SETTLE", 2 * HANG)

    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS)
        assert await read_frame(reader) == (2, b"\x00GET /")
        writer.write(frame(b"\x00page") + CLOSE)

    async def main():
        async with asyncio.timeout(HANG), scripted(converse, certificate) as client:
            with await client.dial("x", 7777, speaks_first=False) as connection:
                connection.sendall(b"GET /")
                return await read_all(connection)

    assert asyncio.run(main()) == b"page"


def test_a_message_may_come_in_pieces_and_be_longer_than_any_buffer(certificate):
    data = bytes(range(256)) * 8192
    whole = frame(b"\x00" + data[:1_000_000], fin=False) + frame(data[1_000_000:], 0)

    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        for at in range(0, len(PORTS + whole), 7919):
            writer.write((PORTS + whole)[at : at + 7919])
            await writer.drain()
        writer.write(CLOSE)
        await reader.read()

    assert dialled(certificate, converse, read_all) == data


def test_a_reader_that_is_slow_makes_the_server_wait(certificate):
    """No more is held than our buffers and those of the sockets: 64 MB are not."""
    written = 0

    async def converse(reader, writer):
        nonlocal written
        await accept_websocket(reader, writer)
        writer.write(PORTS)
        for _ in range(1024):
            writer.write(frame(b"\x00" + bytes(65535)))
            await writer.drain()
            written += 65535

    async def use(connection):
        before = -1
        while before != written:  # until it comes to a stop
            before = written
            await asyncio.sleep(0.3)
        return written

    assert dialled(certificate, converse, use) < 16_000_000


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([frame(b"\x07\x61\x1e")], "channel 7 for one port"),
        ([frame(b"text", 1)], "sent text"),
        ([PORTS, frame(b"\x01pod x has no container")], "pod x has no container"),
        ([b"\xff" * 100], "closed with code 1002"),
        ([b"\x82\xff" + b"\xff" * 8], "closed with code 1002"),
        ([PORTS, CLOSE], "closed at once"),
        ([frame(b"", 8)], "closed"),
    ],
)
def test_frames_that_are_wrong_end_in_one_line(certificate, frames, words):
    with pytest.raises(ApiError, match=words) as caught:
        dialled(certificate, saying(*frames), read_all)
    assert "\n" not in str(caught.value)


def test_an_endless_error_is_cut(certificate):
    frames = [PORTS, frame(b"\x01" + b"e" * 5_000_000)]
    with pytest.raises(Unreachable) as caught:
        dialled(certificate, saying(*frames), read_all)
    assert len(str(caught.value)) < 500


def test_a_server_that_breaks_off_ends_the_connection(certificate):
    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS + frame(b"\x00half"))
        await writer.drain()
        writer.transport.abort()

    assert dialled(certificate, converse, read_all) == b"half"


@pytest.mark.parametrize("header", ["accept", "protocol"])
def test_an_upgrade_to_something_else_is_no_port_forward(certificate, header):
    async def converse(reader, writer):
        written = []
        writer_write, writer.write = writer.write, written.append
        await accept_websocket(reader, writer)
        writer.write = writer_write
        writer.write(
            b"".join(written).replace(f"Sec-WebSocket-{header.title()}: ".encode(), b"X: ")
        )
        await reader.read()

    with pytest.raises(NotKubernetes, match=r"not support v4\.channel\.k8s\.io"):
        dialled(certificate, converse, read_all)


def test_without_descriptors_the_connection_to_the_server_is_ended(certificate):
    async def main():
        ended, limits = asyncio.Event(), ExitStack()

        async def converse(reader, writer):
            await accept_websocket(reader, writer)
            limits.enter_context(descriptors_left(0))
            writer.write(PORTS + frame(b"\x00hello"))
            try:
                await reader.read()
            finally:
                ended.set()

        async with scripted(converse, certificate) as client:
            with limits, pytest.raises(OSError, match="Too many open files"):
                await client.dial("x", 7777)
            await ended.wait()

    asyncio.run(main())


def test_leaving_the_client_closes_what_was_dialled(certificate):
    async def main():
        async with scripted(saying(PORTS, frame(b"\x00hello")), certificate) as client:
            read = await client.dial("x", 7777)
            unread = await client.dial("x", 7777)
            assert await recv(read) == b"hello"
        with read, unread:
            assert await recv(read) == b""
            assert await read_all(unread) in (b"", b"hello")

    asyncio.run(main())


def test_a_pod_that_reads_nothing_makes_us_wait(certificate):
    async def converse(reader, writer):
        await accept_websocket(reader, writer)
        writer.write(PORTS + frame(b"\x00hello"))
        await asyncio.Event().wait()

    async def use(connection):
        assert await recv(connection) == b"hello"
        written, silent = 0, 0
        while silent < 50:  # turns without any room
            try:
                written += connection.send(bytes(65536))
                silent = 0
            except BlockingIOError:
                silent += 1
                await asyncio.sleep(0.01)
        return written

    assert dialled(certificate, converse, use) < 16_000_000


def test_no_more_of_an_error_is_kept_than_is_shown():
    channels = port_forward.Channels()
    for _ in range(100):
        assert list(channels.feed(frame(b"\x01" + b"e" * 1000))) == []
    assert len(channels.error) == port_forward.MAX_ERROR
