"""What answers at the address of a master: refusals, strangers, nobody."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.fake_masters import (
    STREAM_HEAD,
    TRANSCRIPTS,
    GoodMaster,
    MasterThatAnswersNothing,
    MasterThatHangsUp,
    MasterThatPlays,
    MasterThatRedirects,
    ServerThatEchoes,
    ServerThatIsNotMesos,
    recorded_answer,
)
from tests.ports import free_port
from tests.sentences import names
from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api.answers import Unreachable, all_in_one
from tfmesos.engines.mesos.api.client import MesosClient
from tfmesos.engines.mesos.api.masters import MasterList, parse

from .clients import CALM, INFO, QUICK, Launcher, play


@pytest.mark.parametrize("text", ["No leader elected", "Master has not finished recovery"])
def test_a_master_without_a_leader_is_asked_again(text):
    async def scenario():
        later = recorded_answer("13-ha-zookeeper", 503, text)
        good = (TRANSCRIPTS / "01-subscribe-offers.raw").read_bytes()
        async with MasterThatPlays(later, later, later, later, good) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                (line,) = launcher.lines
                assert names(
                    line, "no Mesos master", f"{master.url}: 503 Service Unavailable: {text}"
                )

    play(scenario)


@pytest.mark.parametrize(
    "status, text, words",
    [
        (401, "", "refused the credentials (401 Unauthorized: 401 Unauthorized.)"),
        (400, "Authenticated principal 'fw'", "refused the framework (400 Bad Request: Failed to"),
    ],
)
def test_a_refusal_is_fatal_at_once_in_the_words_of_the_master(status, text, words):
    async def scenario():
        async with MasterThatPlays(recorded_answer("14-authentication", status, text)) as master:
            failure = await Launcher(master.url, credential=("me", Secret("hush"))).failure()
            assert f"the master at {master.url} {words}" in failure
            assert "hush" not in failure
            assert len(master.requests) == 1

    play(scenario)


def test_a_master_that_wants_credentials_has_refused_none():
    async def scenario():
        async with MasterThatPlays(recorded_answer("14-authentication", 401, "")) as master:
            failure = await Launcher(master.url).failure()
            assert "requires credentials, and none were given (401 " in failure

    play(scenario)


def test_masters_that_redirect_to_a_dead_one_name_it_once():
    troubles = [Unreachable("http://a: dead"), Unreachable("http://b: 503"), *2 * [dead()]]
    assert str(all_in_one(troubles)) == "http://a: dead; http://b: 503; http://c: dead"


def dead():
    return Unreachable("http://c: dead")


HTML = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>\n welcome"


@pytest.mark.parametrize(
    "answer, seen",
    [
        (HTML % b"200 OK", "it answered 200 OK: <html> welcome"),
        (HTML % b"404 Not Found", "it answered 404 Not Found: <html> welcome"),
        (HTML % b"501 Unsupported method", "it answered 501 Unsupported method"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "its answer is not HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "if it speaks TLS, write https://"),
        (STREAM_HEAD % 1 + b"6\r\n<html>\r\n", "not the event stream"),
    ],
)
def test_what_is_not_mesos_fails_fast_and_is_shown(answer, seen):
    async def scenario():
        async with ServerThatIsNotMesos(answer) as server:
            failure = await Launcher(server.url).failure()
            assert server.url in failure
            assert seen in failure

    play(scenario)


def test_an_echo_server_is_told_from_a_master():
    async def scenario():
        async with ServerThatEchoes() as server:
            assert "its answer is not HTTP" in await Launcher(server.url).failure()

    play(scenario)


def test_a_master_that_is_still_starting_and_says_404_for_a_moment_is_asked_again():
    async def scenario():
        good = (TRANSCRIPTS / "01-subscribe-offers.raw").read_bytes()
        async with MasterThatPlays(HTML % b"404 Not Found", good) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_a_silent_server_is_given_up_with_what_was_seen():
    async def scenario():
        async with MasterThatAnswersNothing() as master:
            failure = await Launcher(master.url, timing=QUICK).failure()
            assert names(failure, f"{master.url}: connected", "0.2 s")

    play(scenario)


def test_a_stream_that_never_begins_is_given_up_with_what_was_seen():
    async def scenario():
        head = (TRANSCRIPTS / "01-subscribe-offers.raw").read_bytes().partition(b"\r\n\r\n")[0]
        async with MasterThatPlays(head + b"\r\n\r\n") as master:
            failure = await Launcher(master.url, timing=QUICK).failure()
            assert "nothing from the master for 0.2 s" in failure

    play(scenario)


def test_a_server_that_hangs_up_is_given_up_with_a_hint_at_tls():
    async def scenario():
        async with MasterThatHangsUp() as master:
            failure = await Launcher(master.url, timing=QUICK).failure()
            assert "closed the connection without an answer" in failure
            assert "https://" in failure

    play(scenario)


def test_an_unreachable_master_is_given_up_in_time_with_each_url_and_its_error():
    async def scenario():
        urls = [f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"]
        launcher = Launcher(*urls, timing=QUICK)
        failure = await launcher.failure()
        assert failure.endswith(f"{urls[0]}: Connection refused; {urls[1]}: Connection refused")
        assert re.match(r"no Mesos master after \d+ attempts in [\d.]+ s", failure)
        assert launcher.lines[0].startswith(f"no Mesos master yet: {urls[0]}: Connection refused")
        assert launcher.events.empty()

    play(scenario)


def test_a_master_whose_name_does_not_exist_is_given_up_at_once(unknown):
    async def scenario():
        launcher = Launcher(f"http://{unknown}:5050", f"http://{unknown}:5060")
        failure = await launcher.failure()
        words = "Name or service not known"
        assert failure == f"http://{unknown}:5050: {words}; http://{unknown}:5060: {words}"
        assert launcher.lines == []

    play(scenario)


def test_a_name_is_waited_for_by_those_who_said_how_long(unknown):
    async def scenario():
        timing = QUICK.replace(await_names=True)
        failure = await Launcher(f"http://{unknown}:5050", timing=timing).failure()
        assert re.match(r"no Mesos master after \d+ attempts in [\d.]+ s", failure)

    play(scenario)


def test_while_another_master_of_the_list_may_come_up_a_missing_name_is_no_end(unknown):
    async def scenario():
        urls = [f"http://{unknown}:5050", f"http://127.0.0.1:{free_port()}"]
        failure = await Launcher(*urls, timing=QUICK).failure()
        assert re.match(r"no Mesos master after \d+ attempts", failure)

    play(scenario)


def test_a_name_that_is_lost_after_the_subscription_is_waited_for(unknown):
    async def scenario():
        lost = MasterThatRedirects(f"//{unknown}:5050/master/api/v1/scheduler")
        async with GoodMaster() as master, lost as other:
            launcher = Launcher(master.url, other.url, timing=QUICK)
            async with asyncio.TaskGroup() as group:
                failing = group.create_task(launcher.failure())
                await launcher.next("SUBSCRIBED")
                launcher.client._masters = MasterList((other.url,))
                await master.__aexit__()
            assert re.match(r"no Mesos master after \d+ attempts", failing.result())

    play(scenario)


def test_the_first_master_of_a_list_that_answers_is_taken():
    async def scenario():
        async with GoodMaster() as master:
            masters = parse(f"127.0.0.1:{free_port()},{master.address}")
            events: asyncio.Queue = asyncio.Queue()
            client = MesosClient(masters, INFO, events.put_nowait, timing=CALM)
            async with asyncio.TaskGroup() as group:
                task = group.create_task(client.run())
                assert (await events.get())["_master"] == master.url
                task.cancel()

    play(scenario)
