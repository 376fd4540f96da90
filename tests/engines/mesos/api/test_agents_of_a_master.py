"""What the master tells of its agents."""

from __future__ import annotations

import gzip

import pytest

from tests.fake_masters import (
    GoodMaster,
    MasterThatAnswersReaders,
)
from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api.calls import MAX_ANSWER

from .clients import CALM, QUICK, Launcher, play

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"


_PACKED = gzip.compress(b'{"slaves": []}')


GZIPPED = (OK % (len(_PACKED), _PACKED)).replace(
    b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n", 1
)


REFUSAL = b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    "answer, agents",
    [
        (OK % (14, b'{"slaves": []}'), {"slaves": []}),
        (OK % (13, b'{"slaves": []'), None),
        (OK % (60_000, b"[" * 30_000 + b"]" * 30_000), None),
        (OK % (19, b'{"slaves": [1e999]}'), None),
        (OK % (20, b'{"slaves": "\\ud800"}'), None),
        (GZIPPED, None),
        (REFUSAL % b"401 Unauthorized", None),
        (REFUSAL % b"403 Forbidden", None),
        (REFUSAL % b"404 Not Found", None),
        (REFUSAL % b"307 Temporary Redirect", None),
        (b"garbage\r\n\r\n", None),
        (b"", None),  # no answer in time
    ],
)
def test_a_master_that_does_not_tell_of_its_agents_does_no_harm(answer, agents):
    async def scenario():
        async with MasterThatAnswersReaders(answer) as master:
            launcher = Launcher(master.url, timing=QUICK, credential=("me", Secret("hush")))
            async with launcher.running():
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.agents() == agents
                (asked,) = master.calls("GET /master/slaves")
                assert asked.header("Authorization") == "Basic bWU6aHVzaA=="
                assert await launcher.client.revive()
                assert launcher.events.empty()

    play(scenario)


def test_an_answer_that_is_too_long_is_not_waited_for():
    async def scenario():
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 1400000000\r\n\r\n"
        async with MasterThatAnswersReaders(head + b" " * (MAX_ANSWER + 1)) as master:
            patient = CALM.replace(answer=600.0)
            async with Launcher(master.url, timing=patient).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.agents() is None

    play(scenario)


def test_nobody_is_asked_for_agents_before_the_subscription():
    async def scenario():
        async with GoodMaster() as master:
            assert await Launcher(master.url).client.agents() is None
            assert master.requests == []

    play(scenario)
