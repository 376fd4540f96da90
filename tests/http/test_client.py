"""Questions to servers: good ones, and ones that lie or go."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tests.tls import server_context
from tfmesos.http import client
from tfmesos.http.client import ConnectTimeout, Session
from tfmesos.http.connection import MAX_HEAD, Disconnected, HttpError, TooLarge

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"


class Peer:
    """Sends the same bytes to every head that arrives; ``hang_up`` after each if told so."""

    def __init__(self, answer, *, hang_up=False, tls=None, host="127.0.0.1"):
        self._answer, self._hang_up, self._tls, self._host = answer, hang_up, tls, host
        self.heads, self.connections = [], 0
        self.writers = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, self._host, 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        name = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"{'https' if self._tls else 'http'}://{name}:{port}"
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.heads.append(head.decode("latin-1"))
                writer.write(self._answer)
                if self._hang_up:
                    return
        except (OSError, EOFError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def asking(answer, **options):
    async with asyncio.timeout(HANG), Peer(answer, **options) as peer, Session() as session:
        yield peer, session


def body_of(answer, limit=100, **options):
    async def main():
        async with asking(answer, **options) as (peer, session):
            async with await session.ask("GET", peer.url) as response:
                return await response.body(limit)

    return asyncio.run(main())


def test_a_session_sends_its_headers_and_keeps_neither_cookies_nor_packed_bodies():
    packed = (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n"
    )

    async def main():
        async with Peer(packed + b"\r\nabc") as peer, Session({"X": "1"}) as session:
            for _ in range(2):
                async with await session.ask("GET", f"{peer.url}/p?q=1") as answer:
                    assert await answer.body(100) == b"abc"
            return peer.heads, peer.connections

    heads, connections = asyncio.run(main())
    assert connections == 1  # the second question came on the connection of the first
    for head in heads:
        lines = head.split("\r\n")
        assert lines[0] == "GET /p?q=1 HTTP/1.1" and "X: 1" in lines
        assert not [it for it in lines if it.startswith(("Accept-Encoding", "Cookie"))]


def test_a_session_trusts_whom_its_context_trusts(certificate, other_certificate):
    async def status(trusted):
        context = ssl.create_default_context(cafile=str(trusted)) if trusted else None
        async with Peer(OK, tls=server_context(certificate)) as peer, Session({}, context) as s:
            async with await s.ask("GET", peer.url) as answer:
                return answer.status

    assert asyncio.run(status(certificate)) == 200
    for stranger in (other_certificate, None):
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            asyncio.run(status(stranger))


def test_a_redirect_is_an_answer_and_is_not_followed():
    async def main():
        async with asking(b"HTTP/1.1 307 X\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n") as (p, s):
            async with await s.ask("GET", p.url) as answer:
                return answer.status, answer.headers["location"], len(p.heads)

    assert asyncio.run(main()) == (307, "/y", 1)


def test_a_server_with_an_address_of_ipv6_is_asked():
    if not socket.has_ipv6:
        pytest.skip("this Python has no IPv6")
    assert body_of(OK, host="::1") == b"abc"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n2;x=y\r\nbc\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\nabc",
    ],
    ids=["informational", "chunked", "until-the-end"],
)
def test_a_body_is_read_however_it_is_framed(answer):
    assert body_of(answer, hang_up=b"HTTP/1.0" in answer) == b"abc"


@pytest.mark.parametrize(
    "answer, error, words",
    [
        (b"", Disconnected, "closed the connection without an answer"),
        (b"HTTP/1.1 20", Disconnected, "closed the connection without an answer"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", HttpError, "not HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", HttpError, "."),
        (b"GET / HTTP/1.1\r\nHost: you\r\n\r\n", HttpError, "."),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", HttpError, "."),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", Disconnected, "was closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", Disconnected, "closed"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", HttpError, "."),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * MAX_HEAD, HttpError, "."),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", HttpError, "."),
    ],
)
def test_a_server_that_lies_or_goes_is_told_from_one_that_answers(answer, error, words):
    with pytest.raises(error, match=words):
        body_of(answer, hang_up=True)


def test_a_body_longer_than_was_allowed_is_not_read_to_its_end():
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n" + b" " * 100_000
    with pytest.raises(TooLarge, match="more than 100 bytes"):
        body_of(endless)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://h/",
        "http://h:x/",
        "http://h:99999/",
        "http://[::1/",
        "http://h/a b",
        f"http://{'a' * 64}/",
    ],
)
def test_what_is_no_url_of_http_is_refused_and_nobody_is_asked(url):
    async def main():
        async with Session() as session:
            await session.ask("GET", url)

    with pytest.raises(HttpError):
        asyncio.run(main())


def test_a_header_that_would_be_two_is_not_sent():
    async def main():
        async with asking(OK) as (peer, session):
            with pytest.raises(HttpError):
                await session.ask("GET", peer.url, headers={"X": "a\r\nY: b"})
            return peer.heads

    assert asyncio.run(main()) == []


@pytest.mark.parametrize("news", ["closed", "spoke"])
def test_a_kept_connection_on_which_something_happened_is_not_used_again(news):
    async def main():
        async with asking(OK) as (peer, session):
            async with await session.ask("GET", peer.url) as answer:
                await answer.body(100)
            (writer,) = peer.writers
            ((_, kept),) = next(iter(session._kept.values()))
            kept.stream._news.clear()
            if news == "closed":
                writer.close()
            else:
                writer.write(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")
            await kept.stream._news.wait()
            async with await session.ask("GET", peer.url) as answer:
                return answer.status, peer.connections

    assert asyncio.run(main()) == (200, 2)


def test_a_connection_that_was_kept_too_long_is_not_used_again(monkeypatch):
    monkeypatch.setattr(client, "KEEP", 0.0)

    async def main():
        async with asking(OK) as (peer, session):
            for _ in range(2):
                async with await session.ask("GET", peer.url) as answer:
                    await answer.body(100)
            return peer.connections

    assert asyncio.run(main()) == 2


def test_an_answer_that_comes_before_the_body_was_sent_is_taken_and_its_connection_is_not_kept():
    refused = b"HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n"

    async def main():
        async with Deaf(refused) as peer, Session() as session, asyncio.timeout(HANG):
            for _ in range(2):
                async with await session.ask("POST", peer.url, bytes(32 * 2**20)) as answer:
                    assert (answer.status, await answer.body(10)) == (413, b"")
            return peer.connections

    assert asyncio.run(main()) == 2


class Deaf(Peer):
    """Reads a head and nothing more."""

    async def _serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(self._answer)


def test_a_host_that_does_not_answer_costs_no_more_than_the_time_for_a_connection():
    async def main():
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            port = full.getsockname()[1]
            crowd = [socket.socket() for _ in range(4)]  # the backlog, and some that wait
            for each in crowd:
                each.setblocking(False)
                each.connect_ex(("127.0.0.1", port))
            try:
                async with Session(connect_timeout=0.2) as session:
                    await session.ask("GET", f"http://127.0.0.1:{port}/")
            finally:
                for each in crowd:
                    each.close()

    with pytest.raises(ConnectTimeout):
        asyncio.run(main())


def test_the_second_address_of_a_name_is_tried_when_the_first_does_not_answer(monkeypatch):
    async def main():
        async with asking(OK) as (peer, session):
            port = int(peer.url.rpartition(":")[2])

            async def two_addresses(host, port, **_):
                return [(0, 0, 0, "", ("127.0.0.2", port)), (0, 0, 0, "", ("127.0.0.1", port))]

            monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", two_addresses)
            async with await session.ask("GET", f"http://two.example:{port}/") as answer:
                return await answer.body(10), peer.heads[0]

    body, head = asyncio.run(main())
    assert body == b"abc" and "Host: two.example:" in head


def test_who_reads_is_woken_when_the_answer_is_closed():
    async def main():
        async with asking(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") as (peer, session):
            async with await session.ask("GET", peer.url) as answer:
                reading = asyncio.ensure_future(answer.read())
                await asyncio.sleep(0)
                answer.close()
                with pytest.raises(Disconnected):
                    await reading

    asyncio.run(main())


def test_connections_that_are_lost_are_forgotten():
    last = OK.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)

    async def main():
        async with asking(last, hang_up=True) as (peer, session):
            for _ in range(100):
                async with await session.ask("GET", peer.url) as answer:
                    await answer.body(10)
            return peer.connections, len(session._open)

    connections, held = asyncio.run(main())
    assert connections == 100 and held < 40
