"""Both ends of HTTP: no bytes make them fail, hang, or take what is no answer for one."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

import h11
from hypothesis import strategies as st

from tests.bounds import HANG
from tfmesos.http.client import Session
from tfmesos.http.connection import HttpError
from tfmesos.http.server import Answer, Request, Server

LIMIT = 1000  # bytes of a body

_PARTS = st.sampled_from(
    [
        *(b"GET / HTTP/1.1\r\n", b"POST /a?b=%ff HTTP/1.1\r\n", b"HEAD * HTTP/1.0\r\n"),
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 Continue\r\n", b"HTTP/1.0 204 \r\n"),
        *(b"Host: h\r\n", b"Content-Length: 3\r\n", b"Content-Length: 99999999\r\n"),
        *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"Upgrade: x\r\n"),
        *(b"Expect: 100-continue\r\n", b"X: \xff\r\n", b" folded\r\n", b"\r\n", b"\r\n\r\n"),
        *(b"3\r\nabc\r\n", b"0\r\n\r\n", b"ffffffffff\r\n", b"abc", b"\n", b"\0", b"x" * 70_000),
    ]
)
BYTES = st.one_of(
    st.binary(max_size=60),
    st.lists(st.one_of(_PARTS, st.binary(max_size=5)), max_size=12).map(b"".join),
    st.lists(_PARTS, max_size=9).map(
        lambda more: b"GET / HTTP/1.1\r\nHost: h\r\n" + b"".join(more)
    ),
    st.lists(_PARTS, max_size=9).map(lambda more: b"HTTP/1.1 200 OK\r\n" + b"".join(more)),
)


def check_server(given: list[bytes]) -> None:
    """Whatever it is told, it answers in HTTP, is not at fault, and the connection ends."""
    answers = asyncio.run(_told(given))
    parser = h11.Connection(h11.CLIENT)
    parser.send(h11.Request(method="GET", target="/", headers=[("Host", "h")]))
    parser.send(h11.EndOfMessage())
    parser.receive_data(answers)
    if answers:
        status = parser.next_event().status_code
        assert status < 500 or status == 501, answers


async def _told(given: list[bytes]) -> bytes:
    server, loop = Server(_echo), asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    await loop.connect_accepted_socket(server.protocol, theirs)
    reader, writer = await asyncio.open_connection(sock=ours)
    try:
        async with asyncio.timeout(HANG):
            for piece in given:
                writer.write(piece)
                await asyncio.sleep(0)
            writer.write_eof()
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()
        await server.close()


async def _echo(request: Request) -> Answer:
    return Answer(200, await request.body(LIMIT))


def check_client(given: list[bytes]) -> None:
    """Whatever it is answered, it has a body in the end, or says that it has none."""
    try:
        assert len(asyncio.run(_answered(given))) <= LIMIT
    except (HttpError, OSError):
        pass


async def _answered(given: list[bytes]) -> bytes:
    answering: list[tuple[asyncio.Task[None] | None, asyncio.WriteTransport]] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.append((asyncio.current_task(), writer.transport))
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            for piece in given:
                writer.write(piece)
                await asyncio.sleep(0)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        async with asyncio.timeout(HANG), Session() as session:
            async with await session.ask("GET", url) as response:
                return await response.body(LIMIT)
    except TimeoutError as error:
        raise AssertionError("it hangs") from error
    finally:
        server.close()
        for _, transport in answering:
            transport.abort()
        await asyncio.gather(*(task for task, _ in answering if task))
