"""Answers to clients: patient ones, hasty ones, and ones that lie or go."""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tfmesos.http import server as http_server
from tfmesos.http.client import Session
from tfmesos.http.connection import MAX_HEAD
from tfmesos.http.server import Answer, Server, text

LIMIT = 100_000


async def echo(request):
    body = await request.body(LIMIT)
    return text(200, f"{request.method} {request.path} {request.query} {len(body)}")


@asynccontextmanager
async def serving(handle=echo, host="127.0.0.1"):
    """The port of a server, and its Server; both end with the block."""
    server = Server(handle)
    async with asyncio.timeout(HANG):
        listener = await asyncio.get_running_loop().create_server(server.protocol, host, 0)
        try:
            yield listener.sockets[0].getsockname()[1], server
        finally:
            listener.close()
            await server.close()


def told(*requests, handle=echo, half_close=False):
    """All that a server says to these bytes, until it closes the connection."""

    async def main():
        async with serving(handle) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for request in requests:
                writer.write(request)
            if half_close:
                writer.write_eof()
            answer = await reader.read()
            writer.close()
            return answer

    return asyncio.run(main())


def get(path="/", *headers):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: h", *headers, "", ""]).encode()


CLOSE = "Connection: close"


def test_path_and_query_are_unquoted_and_the_first_of_equal_names_counts():
    answer = told(get("/a%20b?x=1&x=2&y=%C3%BC&z", CLOSE))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.decode().endswith("GET /a b {'z': '', 'y': 'ü', 'x': '1'} 0")


def test_requests_sent_at_once_are_answered_one_after_the_other():
    answers = told(get("/1"), get("/2"), get("/3", CLOSE))
    assert [answers.index(f"GET /{n} ".encode()) > 0 for n in "123"] == [True] * 3
    assert answers.count(b"HTTP/1.1 200 OK") == 3


def test_a_body_in_chunks_is_put_together():
    head = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert told(head + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n").endswith(b"POST / {} 5")


def test_who_waits_for_leave_to_send_a_body_gets_it():
    async def main():
        async with serving() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
            writer.write(f"{head}Expect: 100-continue\r\n{CLOSE}\r\n\r\n".encode())
            leave = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"ab")
            rest = await reader.read()
            writer.close()
            return leave, rest

    leave, rest = asyncio.run(main())
    assert leave.startswith(b"HTTP/1.1 100 ")
    assert rest.endswith(b"POST / {} 2")


def test_who_waits_for_leave_and_is_refused_does_not_get_it():
    async def refuse(request):
        return text(401, "no")

    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
    answer = told(head, handle=refuse)
    assert answer.startswith(b"HTTP/1.1 401 ") and b" 100 " not in answer


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % (LIMIT + 1),
        b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % (LIMIT + 1),
    ],
)
def test_a_body_that_is_too_long_is_refused_and_the_refusal_arrives(head):
    """Although the client goes on sending, which would have the kernel drop the answer."""

    async def main():
        async with serving() as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head + bytes(LIMIT + 1))
            answer = await reader.readuntil(b"\r\n")
            writer.close()
            return answer

    assert asyncio.run(main()) == b"HTTP/1.1 413 Payload Too Large\r\n"


def test_after_a_refusal_with_an_unread_body_the_connection_goes_on():
    async def refuse(request):
        return text(401, request.path)

    post = b"POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
    answers = told(post, get("/2", CLOSE), handle=refuse)
    assert answers.count(b"HTTP/1.1 401 ") == 2 and answers.endswith(b"/2")


def test_a_body_that_never_ends_does_not_hold_a_refused_connection_for_ever(monkeypatch):
    monkeypatch.setattr(http_server, "LINGER", 0.05)

    async def refuse(request):
        return text(401, "no")

    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nabc"
    assert told(head, handle=refuse).startswith(b"HTTP/1.1 401 ")


def test_a_connection_without_a_request_ends_in_time(monkeypatch):
    monkeypatch.setattr(http_server, "IDLE", 0.05)
    assert told() == b""
    assert told(get("/1"), b"GET /2").count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    "words, status",
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"\xff\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * MAX_HEAD, 431),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
)
def test_what_is_no_http_is_refused_and_not_worth_a_line(words, status, caplog):
    assert told(words).startswith(b"HTTP/1.1 %d " % status)
    assert caplog.records == []


def test_the_head_alone_tells_the_length_of_the_body():
    answer = told(get("/", CLOSE).replace(b"GET", b"HEAD"))
    assert b"Content-Length: 11\r\n" in answer and answer.endswith(b"\r\n\r\n")


def test_an_old_client_gets_a_stream_without_chunks():
    async def stream(request):
        return Answer(200, pieces(b"ab", b"c"))

    answer = told(b"GET / HTTP/1.0\r\n\r\n", handle=stream)
    assert answer.endswith(b"\r\n\r\nabc") and b"chunked" not in answer


async def pieces(*given):
    for piece in given:
        yield piece


def test_a_body_shorter_than_was_promised_cuts_the_connection():
    async def short(request):
        return Answer(200, pieces(b"ab"), {"Content-Length": "5"})

    assert told(get(), handle=short).endswith(b"\r\n\r\nab")


def test_a_handler_that_fails_is_our_fault_and_is_logged(caplog):
    async def fail(request):
        raise KeyError("oops")

    answer = told(get("/x", CLOSE), handle=fail)
    assert answer.startswith(b"HTTP/1.1 500 ") and b"oops" not in answer
    assert [r.getMessage() for r in caplog.records] == ["no answer to GET /x"]


def test_a_stream_that_fails_is_our_fault_and_is_cut(caplog):
    async def failing(request):
        async def body():
            yield b"a"
            raise KeyError("oops")

        return Answer(200, body())

    async def main():
        async with serving(failing) as (port, _), Session() as session:
            async with await session.ask("GET", f"http://127.0.0.1:{port}/") as answer:
                assert await answer.read() == b"a"
                with pytest.raises(ConnectionError):
                    await answer.read()

    asyncio.run(main())
    assert [r.levelno for r in caplog.records] == [logging.ERROR]


def test_a_stream_ends_as_soon_as_its_reader_has_gone():
    ended = asyncio.Event()

    async def stream(request):
        async def body():
            try:
                yield b"a"
                await asyncio.Event().wait()
            finally:
                ended.set()

        return Answer(200, body())

    async def main():
        async with serving(stream) as (port, _), Session() as session:
            async with await session.ask("GET", f"http://127.0.0.1:{port}/") as answer:
                assert await answer.read() == b"a"
                assert not ended.is_set()
            await ended.wait()

    asyncio.run(main())


def test_closing_the_server_cuts_its_streams():
    async def stream(request):
        async def body():
            yield b"a"
            await asyncio.Event().wait()

        return Answer(200, body())

    async def main():
        async with serving(stream) as (port, server), Session() as session:
            async with await session.ask("GET", f"http://127.0.0.1:{port}/") as answer:
                assert await answer.read() == b"a"
                await server.close()
                with pytest.raises(ConnectionError):
                    await answer.read()

    asyncio.run(main())


def test_a_reader_that_is_slow_holds_the_stream_back():
    made = 0

    async def stream(request):
        async def body():
            nonlocal made
            for _ in range(10_000):
                made += 1
                yield bytes(10_000)

        return Answer(200, body())

    async def main():
        async with serving(stream) as (port, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(get())
            await reader.readuntil(b"\r\n\r\n")
            before = -1
            while made != before:
                before = made
                await asyncio.sleep(0.05)
            writer.transport.abort()
            return made

    assert asyncio.run(main()) < 5_000
