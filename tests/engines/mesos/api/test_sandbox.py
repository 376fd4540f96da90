"""The end of a task's output, fetched from agents: good ones, and ones that lie."""

from __future__ import annotations

import asyncio
import json
import ssl

import pytest

from tests.bounds import HANG
from tests.fake_masters import MasterThatAnswersReaders
from tests.tls import server_context
from tfmesos.engines.mesos.api import sandbox

HEAD = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n%s\r\n"


def answer(body: bytes, kind: bytes = b"application/json", status=b"200 OK", more=b"") -> bytes:
    return HEAD % (status, kind, len(body), more) + body


class AgentThatAnswers(MasterThatAnswersReaders):
    """Gives one answer after the other, the last one for ever."""

    def __init__(self, *answers: bytes, **options) -> None:
        super().__init__(b"", **options)
        self._answers = list(answers)

    async def called(self, request, writer) -> None:
        self._answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        await super().called(request, writer)


@pytest.mark.parametrize(
    "master, expected",
    [
        ("http://m:5050", ["http://10.0.0.1:5051"]),
        ("", ["http://10.0.0.1:5051"]),
        ("https://m:5050", ["https://node-1:5051", "https://10.0.0.1:5051"]),
    ],
)
def test_an_agent_speaks_tls_if_its_master_does_whatever_the_master_says(master, expected):
    assert sandbox.addresses("http://10.0.0.1:5051", "node-1", master) == expected


@pytest.mark.parametrize("trusted", [True, False])
def test_the_last_lines_come_over_tls_from_agents_that_can_be_trusted(certificate, trusted):
    async def main():
        context = ssl.create_default_context(cafile=str(certificate) if trusted else None)
        tls = server_context(certificate)
        async with AgentThatAnswers(window(5), window(0, "x\n"), tls=tls) as agent:
            agents = ["https://no-such-host.invalid:5051", agent.url]
            return await sandbox.tail(agents, "framework", "task", None, context)

    assert asyncio.run(main()) == (("x",) if trusted else ())


def tail_of(*answers: bytes):
    """What is read of an agent that answers so, and what it was asked."""

    async def main():
        async with AgentThatAnswers(*answers) as agent:
            async with asyncio.timeout(HANG):
                lines = await sandbox.tail([agent.url], "framework", "task", None)
            return lines, agent.requests

    return asyncio.run(main())


def window(offset, data="") -> bytes:
    return answer(json.dumps({"offset": offset, "data": data}).encode())


def test_the_last_lines_are_read_from_the_end_of_the_file():
    lines, requests = tail_of(window(100_000), window(91_808, "a\nb\n"))
    assert lines == ("a", "b")
    path = "path=/frameworks/framework/executors/task/runs/latest/stderr"
    assert [request.line for request in requests] == [
        f"GET /files/read?{path} HTTP/1.1",
        f"GET /files/read?{path}&offset=91808&length=8192 HTTP/1.1",
    ]


def test_the_log_of_mesos_own_executor_is_not_taken_for_lines_of_the_task():
    log = (
        "I1116 14:00:59.000001   12 exec.cpp:164] Version: 1.11.0\n"
        "sh: 1: exec: python3: not found\n"
        "I1116 14:00:59.000002   12 train.py:3] of absl, and so the task's own\n"
        "W1116 14:00:59.000003   13 executor.cpp:1042] Command exited\n"
    )
    lines, _ = tail_of(window(100), window(0, log))
    assert [line[:8] for line in lines] == ["sh: 1: e", "I1116 14"]


def test_what_the_launcher_of_mesos_prints_is_not_taken_for_lines_of_the_task():
    log = (
        "Marked '/' as rslave\n"
        'Prepared mount \'{"flags":20480,"source":"/var/lib","target":"/mnt"}\'\n'
        "Executing pre-exec command '{\"shell\":true}'\n"
        "Changing root to /var/lib/mesos/provisioner/x\n"
        "Overwriting environment variable 'HOME'\n"
        "Prepared all data\n"
        "I1116 14:00:59.000001   12 executor.cpp:74] Sent SIGTERM to the following process trees:\n"
        "[ \n--- 12 sh -c train\n]\n"
        "]\n"
        "Marked '/' as rslave, I said\n"
    )
    lines, _ = tail_of(window(100), window(0, log))
    assert lines == ("Prepared all data", "]", "Marked '/' as rslave, I said")


def test_bytes_that_are_no_text_are_shown_as_such():
    lines, _ = tail_of(window(3), answer(b'{"offset": 0, "data": "caf\xc3\\nx\xff"}'))
    assert lines == ("caf\ufffd", "x\ufffd")


@pytest.mark.parametrize("offset", ["1e999", "10" * 200, "-1", "1.5", '"5"', "[5]", "null", "NaN"])
def test_an_offset_that_is_none_costs_only_the_lines(offset):
    lie = answer(b'{"offset": %s, "data": ""}' % offset.encode())
    assert tail_of(lie)[0] == ()


@pytest.mark.parametrize(
    "lie",
    [
        answer(b"[]"),
        answer(b'{"offset": 5, "data": ["x"]}'),
        answer(b'{"offset": 5, "data": %s}' % (b"[" * 30_000)),
        answer(b'{"offset": 5, "data": "\\ud800"}'),
        answer(b"", b"text/html", b"404 Not Found"),
        answer(b"", status=b"307 Temporary Redirect", more=b"Location: /elsewhere\r\n"),
        b"garbage\r\n\r\n",
    ],
    ids=["list", "lines", "deep", "surrogate", "missing", "redirect", "no-http"],
)
def test_an_answer_that_makes_no_sense_costs_only_the_lines(lie):
    assert tail_of(window(5), lie)[0] == ()


@pytest.mark.parametrize(
    "kind", [b"text/plain; charset=rot13", b"x; charset=no-such", b"image/png"]
)
def test_whatever_kind_an_answer_claims_to_be_it_is_read_as_json(kind):
    assert tail_of(window(5), answer(b'{"offset": 0, "data": "x"}', kind))[0] == ("x",)


def test_an_answer_longer_than_was_asked_for_is_not_read_to_its_end(monkeypatch):
    """Nothing more comes, and nobody waits for it."""
    monkeypatch.setattr(sandbox, "TAIL_TIMEOUT", 600.0)
    endless = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n" + b" " * 1_000_000
    assert tail_of(endless)[0] == ()


def file_of(*answers: bytes):
    """A whole file, as an agent that answers so tells it, and how often it was asked."""

    async def main():
        async with AgentThatAnswers(*answers) as agent, asyncio.timeout(HANG):
            text = await sandbox.whole_file([agent.url], "framework", "task", "name", None)
            return text, len(agent.requests)

    return asyncio.run(main())


def test_a_whole_file_is_read_piece_by_piece_up_to_a_short_one():
    full = "x" * sandbox.PIECE
    assert file_of(window(0, full), window(0, full), window(0, "y")) == (full + full + "y", 3)
    assert file_of(window(0, full), window(0, "")) == (full, 2)
    assert file_of(window(0, "y")) == ("y", 1)  # and not one of these after the other, for hours


def test_a_file_without_an_end_is_no_file(monkeypatch):
    monkeypatch.setattr(sandbox, "MAX_FILE", 4 * sandbox.PIECE)
    assert file_of(window(0, "x" * sandbox.PIECE)) == ("", 4)


def test_cookies_are_not_kept():
    def with_cookie(answer: bytes) -> bytes:
        return answer.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n\r\n", 1)

    async def main():
        async with AgentThatAnswers(with_cookie(window(5)), window(0, "x")) as agent:
            url = agent.url.replace("127.0.0.1", "localhost")  # addresses get no cookies at all
            assert await sandbox.tail([url], "framework", "task", None) == ("x",)
            return [request.header("Cookie") for request in agent.requests]

    assert asyncio.run(main()) == [None, None]


def test_a_redirect_is_not_followed():
    away = answer(b"", status=b"307 Temporary Redirect", more=b"Location: /elsewhere\r\n")
    _, requests = tail_of(away, window(5, "x"))
    assert len(requests) == 1
