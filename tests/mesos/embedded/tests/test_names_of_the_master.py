"""The embedded Mesos is served under its own names only."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tests.bounds import HANG
from tests.mesos.embedded import LocalMesos

from .asking import NODE
from .wire import Connection


async def statuses(mesos, *headers, path="/version"):
    found = []
    for one in headers:
        connection = await Connection.open(mesos.url)
        answer = await connection.request(None, one, method="GET", path=path)
        found.append((answer.status, answer.body))
        connection.close()
    return found


def test_it_is_served_under_its_own_addresses_and_names_only():
    ours = [
        "127.0.0.1:%d",
        "127.0.0.1",
        "localhost:%d",
        "LOCALHOST.",
        "node-a:%d",
        socket.gethostname(),
    ]
    others = ["evil.example:%d", "127.0.0.2", "[::1]:%d", "", "a@localhost", "localhost:x"]
    others += ["localhost/", "127.0.0.1.evil.example", "0x7f.1"]

    async def main():
        async with LocalMesos([NODE]) as mesos:
            port = int(mesos.url.rpartition(":")[2])
            hosts = [host.replace("%d", str(port)) for host in ours + others]
            paths = ["/version", "/state", "/files/browse?path=/x", "/nothing"]
            return [await statuses(mesos, *({"Host": h} for h in hosts), path=p) for p in paths]

    for answers in asyncio.run(main()):
        assert all(status != 403 for status, _ in answers[: len(ours)])
        assert [status for status, _ in answers[len(ours) :]] == [403] * len(others)
    assert answers[len(ours)][1].startswith("'evil.example:")
    assert answers[len(ours)][1].endswith(
        "is no name of this Mesos; --hostname gives it further ones.\n"
    )


@pytest.mark.parametrize(
    "words", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 9]
)
def test_what_is_no_http_is_a_bad_request_and_not_worth_a_line(words, caplog):
    async def main():
        async with LocalMesos([NODE]) as mesos:
            connection = await Connection.open(mesos.url)
            connection.writer.write(words)
            connection.writer.write_eof()
            answer = await asyncio.wait_for(connection.reader.read(), HANG)
            connection.close()
            return answer

    assert asyncio.run(main())[:12] in (b"HTTP/1.0 400", b"HTTP/1.1 400", b"")
    assert caplog.records == []


def test_calls_of_web_pages_are_not_taken():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            mine = {"Origin": mesos.url}
            others = ["http://evil.example", "null", "http://127.0.0.1:1", mesos.url + "0", ""]
            return await statuses(mesos, mine, *({"Origin": origin} for origin in others))

    first, *others = asyncio.run(main())
    assert first[0] == 200
    assert [status for status, _ in others] == [403] * 5
    assert others[0][1] == "Calls of web pages, as 'http://evil.example', are not taken.\n"
