from __future__ import annotations

import asyncio
import gc
import gzip
import itertools
import json
import logging
import os
import re
import ssl
from contextlib import asynccontextmanager
from functools import partial

import pytest

from tests.bounds import HANG
from tests.fake_masters import (
    CLEAN_END,
    STREAM_HEAD,
    TRANSCRIPTS,
    GoodMaster,
    MasterThatAnswersNothing,
    MasterThatAnswersReaders,
    MasterThatDiesInTheMiddleOfARecord,
    MasterThatHangsUp,
    MasterThatIsSlowToAnswer,
    MasterThatLosesCalls,
    MasterThatPlays,
    MasterThatRedirects,
    MasterThatRedirectsCalls,
    MasterThatRedirectsInACircle,
    MasterThatRefusesCalls,
    MasterThatSetsCookies,
    ServerThatEchoes,
    ServerThatIsNotMesos,
    ServerThatResets,
    all_connections_closed,
    recorded_answer,
    recorded_stream,
    server_tasks,
    subscribed,
    transcript,
    update,
)
from tests.ports import free_port
from tests.tls import CIPHERS_OF_MESOS, blunt_server, server_context
from tfmesos.config.secret import Secret
from tfmesos.errors import MasterError
from tfmesos.mesos.auth import CERTIFICATE_HINT, CIPHERS_HINT
from tfmesos.mesos.calls import MAX_ANSWER
from tfmesos.mesos.client import MesosClient, Timing
from tfmesos.mesos.masters import MasterList, parse
from tfmesos.mesos.zookeeper import ZooKeeperMasters, by_precedence

INFO = {"user": "nobody", "name": "test", "roles": ["*"]}
QUICK = Timing(
    give_up_after=0.3,
    reconnect_for=0.3,
    connect=1.0,
    answer=0.2,
    first_delay=0.01,
    longest_delay=0.02,
)
CALM = Timing(give_up_after=5.0, reconnect_for=5.0, first_delay=0.01, longest_delay=0.02)


def play(scenario):
    """Run a scenario, and see that it leaves no task and no socket behind."""

    async def watched():
        async with asyncio.timeout(HANG):
            await scenario()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    gc.collect()
    before = os.listdir("/proc/self/fd")
    asyncio.run(watched())
    assert os.listdir("/proc/self/fd") == before


class Launcher:
    """Stands where the scheduler will: a client and the events it emits."""

    def __init__(self, *urls: str, timing: Timing = CALM, **options):
        self.events: asyncio.Queue = asyncio.Queue()
        self.lines: list[str] = []
        self.client = MesosClient(
            MasterList(urls),
            INFO,
            self.events.put_nowait,
            timing=timing,
            on_state=self.lines.append,
            **options,
        )

    @asynccontextmanager
    async def running(self):
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.client.run())
            yield self
            task.cancel()

    async def next(self, type: str):
        event = await self.events.get()
        assert event["type"] == type
        return event

    async def failure(self) -> str:
        """Run until the client gives up, and tell with which words."""
        with pytest.raises(MasterError) as caught:
            await self.client.run()
        return str(caught.value)


def events_of(name: str) -> list[dict]:
    return [it["event"] for it in transcript(name) if it["dir"] == "event" and it["conn"] == 1]


def each_once(events: list[dict]) -> list[dict]:
    """What is to be emitted: no heartbeats, and each update once."""
    seen, kept = set(), []
    for event in events:
        uuid = event.get("update", {}).get("status", {}).get("uuid")
        if event["type"] != "HEARTBEAT" and uuid not in seen:
            kept.append(event)
        seen |= {uuid} - {None}
    return kept


# --- events ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["01-subscribe-offers", "02-launch"])
@pytest.mark.parametrize("kind", ["raw", "rechunked.raw"])
@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_recorded_streams_give_the_recorded_events_however_they_are_cut(name, kind, piece):
    async def scenario():
        recording = (TRANSCRIPTS / f"{name}.{kind}").read_bytes()
        async with MasterThatPlays(recording, piece=piece) as master:
            async with Launcher(master.url).running() as launcher:
                expected = each_once(events_of(name))
                got = [await launcher.events.get() for _ in expected]
                assert got[0].pop("_master") == master.url
                assert got == expected
                await launcher.next("DISCONNECTED")

    play(scenario)


def test_heartbeats_are_not_emitted():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            master.send({"type": "HEARTBEAT"}, {"type": "RESCIND"})
            await launcher.next("RESCIND")

    play(scenario)


def test_an_update_is_acknowledged_after_it_was_emitted_and_only_if_it_has_a_uuid():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            master.send(update(None, "TASK_DROPPED"), update("dXVpZA=="))
            acknowledged = (await master.next("ACKNOWLEDGE")).body
            assert acknowledged == {
                "framework_id": {"value": "framework-1"},
                "type": "ACKNOWLEDGE",
                "acknowledge": {
                    "agent_id": {"value": "agent-1"},
                    "task_id": {"value": "task-1"},
                    "uuid": "dXVpZA==",
                },
            }
            assert launcher.events.qsize() == 2

    play(scenario)


def test_a_repeated_update_is_acknowledged_each_time_and_emitted_once():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            master.send(update("one"), update("one"), update("two"))
            uuids = [(await master.next("ACKNOWLEDGE")).body["acknowledge"]["uuid"] for _ in "123"]
            assert uuids == ["one", "one", "two"]
            emitted = [(await launcher.next("UPDATE"))["update"]["status"]["uuid"] for _ in "12"]
            assert emitted == ["one", "two"]
            assert launcher.events.empty()

    play(scenario)


def test_an_update_repeated_after_a_reconnection_is_not_emitted_again():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            master.send(update("one"))
            await launcher.next("UPDATE")
            await master.next("ACKNOWLEDGE")
            master.stream.close()
            await launcher.next("DISCONNECTED")
            await launcher.next("SUBSCRIBED")
            master.send(update("one"), update("two"))
            assert (await launcher.next("UPDATE"))["update"]["status"]["uuid"] == "two"

    play(scenario)


def test_an_error_event_is_fatal_in_the_words_of_the_master():
    async def scenario():
        async with MasterThatPlays(recorded_stream("10-teardown", 4)) as master:
            words = await Launcher(master.url).failure()
            assert words.endswith("reports an error: Framework has been removed")
            assert master.url in words

    play(scenario)


@pytest.mark.parametrize(
    "garbage",
    [b"<html>", b"5\nhello", b"2\n[]", b"2\n{}", b"99999999999\n", b'17\n{"type":"UPDATE"}'],
)
def test_a_malformed_event_after_the_subscription_is_fatal_and_shown(garbage):
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                failing = group.create_task(launcher.failure())
                await launcher.next("SUBSCRIBED")
                master.send_bytes(garbage)
            assert "not the event stream of a Mesos master" in failing.result()

    play(scenario)


# --- the wire -------------------------------------------------------------------------------


def test_subscribe_and_calls_look_on_the_wire_as_mesos_demands():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url, credential=("me", Secret("sécret")))
            async with launcher.running():
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()
                assert await launcher.client.suppress()
        subscribe, revive, suppress = master.requests
        for request in master.requests:
            assert request.line == "POST /api/v1/scheduler HTTP/1.1"
            assert [value for name, value in request.headers if name == "Content-Type"] == [
                "application/json"
            ]
            assert request.header("Accept") == "application/json"
            assert request.header("Authorization") == "Basic bWU6c8OpY3JldA=="
            assert request.header("Accept-Encoding") is None
            assert request.header("Expect") is None
        assert subscribe.header("Mesos-Stream-Id") is None
        assert subscribe.body == {"type": "SUBSCRIBE", "subscribe": {"framework_info": INFO}}
        assert revive.header("Mesos-Stream-Id") == "stream-1"
        assert revive.body == {"framework_id": {"value": "framework-1"}, "type": "REVIVE"}
        assert revive.connection == suppress.connection != subscribe.connection

    play(scenario)


def test_calls_have_the_shapes_of_the_recorded_ones():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            client = launcher.client
            await client.accept(["o1", "o2"], [{"task_id": {"value": "t"}}], 0.5)
            await client.decline(["o3"], 10)
            await client.kill("t1", "a1")
            await client.kill("t2")
            await client.reconcile([("t1", "a1"), ("t2", None)])
            await client.reconcile()
        bodies = [request.body for request in master.requests[1:]]
        assert [body[body["type"].lower()] for body in bodies] == [
            {
                "offer_ids": [{"value": "o1"}, {"value": "o2"}],
                "operations": [
                    {"type": "LAUNCH", "launch": {"task_infos": [{"task_id": {"value": "t"}}]}}
                ],
                "filters": {"refuse_seconds": 0.5},
            },
            {"offer_ids": [{"value": "o3"}], "filters": {"refuse_seconds": 10}},
            {"task_id": {"value": "t1"}, "agent_id": {"value": "a1"}},
            {"task_id": {"value": "t2"}},
            {
                "tasks": [
                    {"task_id": {"value": "t1"}, "agent_id": {"value": "a1"}},
                    {"task_id": {"value": "t2"}},
                ]
            },
            {"tasks": []},
        ]

    play(scenario)


def test_calls_made_at_once_arrive_in_the_order_they_were_made():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            wanted = [f"task-{number}" for number in range(50)]
            assert all(await asyncio.gather(*map(launcher.client.kill, wanted)))
            kills = [request.body["kill"]["task_id"]["value"] for request in master.calls("KILL")]
            assert kills == wanted

    play(scenario)


def test_a_cancelled_call_does_not_disturb_the_others():
    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")
            async with asyncio.TaskGroup() as group:
                cancelled = group.create_task(launcher.client.kill("one"))
                kept = group.create_task(launcher.client.kill("two"))
                await master.next("KILL")
                cancelled.cancel()
            assert kept.result()

    play(scenario)


def test_neither_secrets_nor_bodies_are_logged(caplog):
    async def scenario():
        async with GoodMaster() as master:
            async with Launcher(
                master.url, credential=("me", Secret("hush"))
            ).running() as launcher:
                await launcher.next("SUBSCRIBED")
                await launcher.client.accept(
                    ["o"], [{"task_id": {"value": "t"}, "secret": "hush"}], 0
                )

    with caplog.at_level(logging.DEBUG):
        play(scenario)
    assert "ACCEPT" in caplog.text
    assert "hush" not in caplog.text
    assert "Basic" not in caplog.text


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    async def scenario():
        async with GoodMaster() as master, Launcher(master.url).running() as launcher:
            await launcher.next("SUBSCRIBED")

    play(scenario)


# --- losses and reconnections ---------------------------------------------------------------


def test_after_a_loss_the_same_framework_id_is_given_in_both_places():
    async def scenario():
        async with MasterThatDiesInTheMiddleOfARecord() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert master.url in (await launcher.next("DISCONNECTED"))["reason"]
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()
        _, again, revive = master.requests
        known = {"value": "framework-1"}
        assert again.body["framework_id"] == known
        assert again.body["subscribe"]["framework_info"] == {**INFO, "id": known}
        assert again.header("Mesos-Stream-Id") is None
        assert revive.header("Mesos-Stream-Id") == "stream-2"

    play(scenario)


def test_a_master_without_heartbeats_counts_as_lost():
    async def scenario():
        async with GoodMaster(heartbeat=0.02) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                loss = await launcher.next("DISCONNECTED")
                assert "nothing from the master for 0.1 s" in loss["reason"]
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_a_call_that_gets_lost_ends_the_subscription():
    async def scenario():
        async with MasterThatLosesCalls() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.revive()
                assert "REVIVE got lost" in (await launcher.next("DISCONNECTED"))["reason"]
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_calls_that_wait_when_the_master_goes_away_are_told_so():
    async def scenario():
        async with MasterThatLosesCalls() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                calls = [launcher.client.revive() for _ in range(3)]
                assert await asyncio.gather(*calls) == [False, False, False]
                assert len(master.calls("REVIVE")) == 1

    play(scenario)


@pytest.mark.parametrize(
    "answer, words",
    [
        ("400 Bad Request", "400 Bad Request: no"),
        ("401 Unauthorized", "401 Unauthorized: no"),
        ("413 Payload Too Large", "413 Payload Too Large: no"),
        ("501 Not Implemented", "501 Not Implemented: no"),
    ],
)
def test_a_refused_call_is_false_and_an_event_with_its_tasks_and_the_reason(answer, words):
    async def scenario():
        async with MasterThatRefusesCalls(answer, "no") as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                infos = [{"task_id": {"value": task_id}} for task_id in ("t1", "t2")]
                assert not await launcher.client.accept(["o1"], infos, 5.0)
                reason = f"{master.url}: {words}"
                refused = {"type": "REFUSED", "call": "ACCEPT", "reason": reason}
                assert await launcher.next("REFUSED") == {**refused, "task_ids": ("t1", "t2")}
                assert not await launcher.client.revive()
                refused = {"type": "REFUSED", "call": "REVIVE", "reason": reason}
                assert await launcher.next("REFUSED") == {**refused, "task_ids": ()}

    play(scenario)


def test_an_acknowledgement_that_is_refused_is_an_event_too():
    async def scenario():
        async with MasterThatRefusesCalls("401 Unauthorized", "") as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                master.send(update("one"))
                await launcher.next("UPDATE")
                refused = await launcher.next("REFUSED")
                assert refused["call"] == "ACKNOWLEDGE"
                assert refused["reason"] == f"{master.url}: 401 Unauthorized"

    play(scenario)


@pytest.mark.parametrize(
    "answer, text",
    [
        ("400 Bad Request", "Framework cannot be found"),
        ("400 Bad Request", "The stream ID 'a' included in this request didn't match"),
        ("403 Forbidden", "Framework is not subscribed"),
        ("307 Temporary Redirect", ""),
        ("503 Service Unavailable", "No leader elected"),
    ],
)
def test_a_refusal_because_the_subscription_is_void_leads_to_a_new_subscription(answer, text):
    async def scenario():
        async with MasterThatRefusesCalls(answer, text) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.revive()
                lost = await launcher.next("DISCONNECTED")
                assert f"REVIVE was not accepted: {answer}" in lost["reason"]
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_a_teardown_that_is_refused_is_not_waited_for(caplog):
    async def scenario():
        async with MasterThatRefusesCalls("401 Unauthorized", "no") as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.teardown(within=3600)

    play(scenario)
    assert re.search(r"refused TEARDOWN \(http.*: 401 .*: no\): tasks may go on", caplog.text)


OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
ENDLESS = b"HTTP/1.1 200 OK\r\nContent-Length: 1400000000\r\n\r\n" + b" " * (MAX_ANSWER + 1)
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
        async with MasterThatAnswersReaders(ENDLESS) as master:
            patient = CALM.but(answer=600.0)
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


def test_a_call_before_the_subscription_and_after_the_end_is_false():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            assert not await launcher.client.revive()
            async with launcher.running():
                await launcher.next("SUBSCRIBED")
            assert not await launcher.client.revive()
            assert not await launcher.client.teardown()

    play(scenario)


def test_a_master_that_does_not_come_back_is_given_up_with_what_was_tried():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url, timing=QUICK)
            async with asyncio.TaskGroup() as group:
                failing = group.create_task(launcher.failure())
                await launcher.next("SUBSCRIBED")
                await master.__aexit__()
            await launcher.next("DISCONNECTED")
            assert launcher.events.empty()
            assert f"{master.url}: Connection refused" in failing.result()

    play(scenario)


# --- redirects ------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
@pytest.mark.parametrize("location", ["//{}/master/api/v1/scheduler", "http://{}/api/v1/scheduler"])
def test_a_redirect_leads_to_the_leader_and_the_calls_go_there_too(status, location):
    async def scenario():
        async with GoodMaster() as leader:
            redirect = MasterThatRedirects(location.format(leader.address), status)
            async with redirect as other:
                launcher = Launcher(other.url, credential=("me", Secret("secret")))
                async with launcher.running():
                    assert (await launcher.next("SUBSCRIBED"))["_master"] == leader.url
                    assert await launcher.client.revive()
        path = location.partition("{}")[2]
        assert [it.line for it in leader.requests] == [f"POST {path} HTTP/1.1"] * 2
        assert all(it.header("Authorization") for it in leader.requests)
        assert len(other.requests) == 1

    play(scenario)


def test_masters_that_redirect_in_a_circle_are_given_up_with_the_way_they_sent_us():
    async def scenario():
        async with MasterThatRedirectsInACircle() as master:
            words = await Launcher(master.url, timing=QUICK).failure()
            assert f"redirect in a circle: {master.url} -> {master.url}" in words

    play(scenario)


@pytest.mark.parametrize(
    "location",
    ["", "ftp://a/", "//me:hush@127.0.0.1/", "http://[", "//:x", "//a..b/", f"//{'a' * 70}/", "//"],
)
def test_a_redirect_to_nowhere_is_not_followed(location):
    async def scenario():
        async with MasterThatRedirects(location) as master:
            assert "not a Mesos master" in await Launcher(master.url, timing=QUICK).failure()

    play(scenario)


def test_after_a_redirect_to_a_dead_leader_the_next_master_is_tried():
    async def scenario():
        async with GoodMaster() as leader:
            dead = MasterThatRedirects(f"//127.0.0.1:{free_port()}/master/api/v1/scheduler")
            async with dead as other:
                async with Launcher(other.url, leader.url).running() as launcher:
                    assert (await launcher.next("SUBSCRIBED"))["_master"] == leader.url

    play(scenario)


def test_a_call_is_not_taken_elsewhere_by_a_redirect():
    """It may hold secrets, and only SUBSCRIBE knows whom to follow how far."""

    async def scenario():
        async with GoodMaster() as other:
            location = f"http://{other.address}/api/v1/scheduler"
            for status in ("307 Temporary Redirect", "302 Found"):
                async with MasterThatRedirectsCalls(location, status) as master:
                    async with Launcher(master.url, timing=QUICK).running() as launcher:
                        await launcher.next("SUBSCRIBED")
                        assert not await launcher.client.revive()
                        assert await launcher.client.agents() is None
        assert other.requests == []

    play(scenario)


def test_cookies_are_not_kept():
    async def scenario():
        async with MasterThatSetsCookies() as master:
            url = master.url.replace("127.0.0.1", "localhost")  # addresses get no cookies at all
            async with Launcher(url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()
                assert await launcher.client.revive()
        assert [request.header("Cookie") for request in master.requests] == [None] * 3

    play(scenario)


# --- refusals and what is no master ---------------------------------------------------------


@pytest.mark.parametrize("text", ["No leader elected", "Master has not finished recovery"])
def test_a_master_without_a_leader_is_asked_again(text):
    async def scenario():
        later = recorded_answer("13-ha-zookeeper", 503, text)
        good = (TRANSCRIPTS / "01-subscribe-offers.raw").read_bytes()
        async with MasterThatPlays(later, later, later, later, good) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert launcher.lines == [
                    f"no Mesos master yet: {master.url}: 503 Service Unavailable: {text}"
                ]

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


HTML = b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>\n welcome"


@pytest.mark.parametrize(
    "answer, seen",
    [
        (HTML % b"200 OK", "it answered 200 OK: <html> welcome"),
        (HTML % b"404 Not Found", "it answered 404 Not Found: <html> welcome"),
        (HTML % b"501 Unsupported method", "it answered 501 Unsupported method"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "its answer is not HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "if it speaks TLS, write https://"),
        (STREAM_HEAD % 1 + b"6\r\n<html>\r\n", "not the event stream of a Mesos master"),
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
            assert f"{master.url}: connected, but no answer within 0.2 s" in failure

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
        assert re.match(r"no Mesos master after \d+ attempts in 0\.\d s: ", failure)
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
        timing = QUICK.but(await_names=True)
        failure = await Launcher(f"http://{unknown}:5050", timing=timing).failure()
        assert re.match(r"no Mesos master after \d+ attempts in 0\.\d s: ", failure)

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


# --- TLS ------------------------------------------------------------------------------------


def test_a_master_with_a_trusted_certificate_is_subscribed_to(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=server_context(certificate)) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()

    play(scenario)


def test_a_master_with_an_unknown_certificate_is_refused_at_once(certificate):
    async def scenario():
        async with GoodMaster(tls=server_context(certificate)) as master:
            failure = await Launcher(master.url).failure()
            assert "self-signed certificate" in failure
            assert master.requests == []

    play(scenario)


def test_a_redirect_from_https_to_http_is_not_followed(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster() as plain:
            location = f"http://{plain.address}/master/api/v1/scheduler"
            secure = MasterThatRedirects(location, tls=server_context(certificate))
            async with secure as other:
                launcher = Launcher(
                    other.url, credential=("me", Secret("hush")), ssl_context=trusting
                )
                assert "without TLS: not followed" in await launcher.failure()
            assert plain.requests == []

    play(scenario)


def test_https_to_a_master_without_tls_fails_with_the_remedy():
    async def scenario():
        async with GoodMaster() as master:
            failure = await Launcher(f"https://{master.address}", timing=QUICK).failure()
            assert "write http://" in failure

    play(scenario)


TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


async def failure_at(address: str, certificate, client_certificate=None) -> str:
    """What the user is told when there is no TLS connection to that address."""
    trusting = ssl.create_default_context(cafile=str(certificate))
    if client_certificate:
        trusting.load_cert_chain(client_certificate)
    launcher = Launcher(f"https://{address}", ssl_context=trusting)
    return await launcher.failure()


@pytest.mark.parametrize("newest", [TLS_1_2, TLS_1_3])
@pytest.mark.parametrize("is_ours", [False, True])
@pytest.mark.parametrize("says_why", [False, True])
def test_a_master_that_wants_another_client_certificate_is_not_blamed_for_its_ciphers(
    certificate, other_certificate, newest, is_ours, says_why
):
    context = server_context(certificate, trusted_clients=certificate, newest=newest)
    ours = other_certificate if is_ours else None

    async def scenario():
        if says_why:
            with blunt_server(context) as address:
                failure = await failure_at(address, certificate, ours)
        else:
            async with GoodMaster(tls=context) as master:
                failure = await failure_at(master.address, certificate, ours)
        assert failure.endswith(f"({CERTIFICATE_HINT})")
        assert "cipher" not in failure

    play(scenario)


def test_with_the_right_client_certificate_a_master_is_subscribed_to(certificate):
    async def scenario():
        context = server_context(certificate, trusted_clients=certificate)
        trusting = ssl.create_default_context(cafile=str(certificate))
        trusting.load_cert_chain(certificate)
        async with GoodMaster(tls=context) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")

    play(scenario)


@pytest.mark.parametrize("says_why", [False, True])
@pytest.mark.parametrize("wants_certificate", [False, True])
def test_the_ciphers_mesos_allows_by_default_are_named_with_the_way_out(
    certificate, says_why, wants_certificate
):
    wanted = certificate if wants_certificate else None
    context = server_context(
        certificate, trusted_clients=wanted, ciphers=CIPHERS_OF_MESOS, newest=TLS_1_2
    )

    async def scenario():
        if says_why:
            with blunt_server(context) as address:
                failure = await failure_at(address, certificate)
        else:
            async with GoodMaster(tls=context) as master:
                failure = await failure_at(master.address, certificate)
        assert failure.endswith(f"({CIPHERS_HINT})")
        assert "LIBPROCESS_SSL_CIPHERS=ECDHE-RSA-AES128-GCM-SHA256" in failure

    play(scenario)


def test_with_the_ciphers_of_the_way_out_there_is_a_subscription(certificate):
    async def scenario():
        ciphers = CIPHERS_HINT.rpartition("LIBPROCESS_SSL_CIPHERS=")[2]
        context = server_context(certificate, ciphers=f"{ciphers}:@SECLEVEL=0", newest=TLS_1_2)
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=context) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_a_server_that_hangs_up_on_tls_is_blamed_for_nothing(certificate):
    async def scenario():
        async with ServerThatResets() as server:
            trusting = ssl.create_default_context(cafile=str(certificate))
            url = f"https://{server.address}"
            failure = await Launcher(url, ssl_context=trusting, timing=QUICK).failure()
            assert url in failure
            assert "cipher" not in failure and "certificate" not in failure

    play(scenario)


class ElectionOf:
    """A ZooKeeper that knows one master; only what it would read is made up."""

    def __init__(self, address: str, scheme: str) -> None:
        host, _, port = address.rpartition(":")
        self._told = {"address": {"hostname": "no.such", "ip": host, "port": int(port)}}
        self._masters = ZooKeeperMasters(("zookeeper:2181",), "/mesos", scheme=scheme)
        self.way_to = self._masters.way_to

    async def candidates(self) -> list[str]:
        znodes = {"json.info_0000000000": json.dumps(self._told).encode()}
        return by_precedence(znodes, self._masters.scheme)


@pytest.mark.parametrize("masters", ["list", "election"])
@pytest.mark.parametrize("kind", ["resets", "asyncio", "blunt"])
def test_a_tls_port_spoken_to_without_tls_is_recognised(certificate, masters, kind):
    async def scenario():
        context = server_context(certificate)
        if kind == "blunt":
            with blunt_server(context) as address:
                failure = await plain_failure(address)
        else:
            fake = ServerThatResets() if kind == "resets" else GoodMaster(tls=context)
            async with fake as server:
                failure = await plain_failure(server.address)
        assert failure.endswith(f" (if it speaks TLS, {WAY_TO_TLS[masters]})")

    async def plain_failure(address):
        launcher = Launcher(f"http://{address}", timing=QUICK)
        if masters == "election":
            launcher.client._masters = ElectionOf(address, "http")
        return await launcher.failure()

    play(scenario)


WAY_TO_TLS = {"list": "write https://", "election": "give a CA file or a client certificate"}


def test_an_election_between_masters_with_tls_leads_to_one_by_name_or_address(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=server_context(certificate)) as master:
            launcher = Launcher(ssl_context=trusting)
            launcher.client._masters = ElectionOf(master.address, "https")
            async with launcher.running():
                assert (await launcher.next("SUBSCRIBED"))["_master"] == master.url
                assert launcher.client.master == master.url

    play(scenario)


def test_an_election_between_masters_without_tls_is_told_from_one_with(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster() as master:
            launcher = Launcher(ssl_context=trusting, timing=QUICK)
            launcher.client._masters = ElectionOf(master.address, "https")
            failure = await launcher.failure()
            assert "does not speak TLS: give neither a CA file nor a client certificate" in failure

    play(scenario)


# --- the end --------------------------------------------------------------------------------


def test_teardown_is_confirmed_by_the_end_of_the_stream_and_ends_run():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(launcher.client.run())
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.teardown()
            assert master.requests[-1].body == {
                "framework_id": {"value": "framework-1"},
                "type": "TEARDOWN",
            }
            assert launcher.events.empty()

    play(scenario)


def test_a_teardown_does_not_wait_for_acknowledgements_that_it_makes_needless():
    async def scenario():
        async with MasterThatIsSlowToAnswer() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(launcher.client.run())
                await launcher.next("SUBSCRIBED")
                master.send(update("one"), update("two"), update("three"))
                for _ in range(3):
                    await launcher.next("UPDATE")
                await master.next("ACKNOWLEDGE")  # which it does not answer yet
                torn_down = group.create_task(launcher.client.teardown())
                asyncio.get_running_loop().call_soon(master.answering.set)  # once it has begun
                assert await torn_down
            assert [request.body["type"] for request in master.requests[-2:]] == [
                "ACKNOWLEDGE",
                "TEARDOWN",
            ]
            assert len(master.calls("ACKNOWLEDGE")) == 1

    play(scenario)


def test_a_teardown_can_wait_until_all_acknowledgements_have_arrived():
    async def scenario():
        async with MasterThatIsSlowToAnswer() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(launcher.client.run())
                await launcher.next("SUBSCRIBED")
                await launcher.client.all_answered()  # there is nothing to wait for yet
                master.send(update("one"), update("two"))
                for _ in range(2):
                    await launcher.next("UPDATE")
                settled = group.create_task(launcher.client.all_answered())
                await master.next("ACKNOWLEDGE")  # which it does not answer yet
                assert not settled.done()
                master.answering.set()
                await settled
                assert len(master.calls("ACKNOWLEDGE")) == 2
                assert await launcher.client.teardown()

    play(scenario)


def test_a_teardown_while_the_master_is_away_is_sent_when_it_is_back():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(launcher.client.run())
                await launcher.next("SUBSCRIBED")
                master.stream.close()
                await launcher.next("DISCONNECTED")
                assert await launcher.client.teardown()

    play(scenario)


def test_a_framework_that_is_already_gone_counts_as_torn_down():
    async def scenario():
        gone = recorded_stream("10-teardown", 4)
        first = recorded_stream("10-teardown", 1).removesuffix(CLEAN_END)
        async with MasterThatPlays(first, gone) as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                group.create_task(launcher.client.run())
                await launcher.next("SUBSCRIBED")
                master.stream.transport.abort()
                assert await launcher.client.teardown()

    play(scenario)


def test_a_teardown_that_nobody_confirms_is_given_up_in_time():
    async def scenario():
        async with MasterThatRefusesCalls() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.teardown(within=0.05)

    play(scenario)


class CancelledAt:
    """Awaits something, and cancels the task at the given one of its suspensions."""

    def __init__(self, coroutine, suspension: int):
        self._coroutine, self._suspension = coroutine, suspension

    def __await__(self):
        steps = self._coroutine.__await__()
        resume = partial(next, steps)
        for number in itertools.count(1):
            try:
                waited_for = resume()
            except StopIteration as end:
                return end.value
            if number == self._suspension:
                asyncio.current_task().cancel()
            try:
                yield waited_for
                resume = partial(next, steps)
            except BaseException as error:
                resume = partial(steps.throw, error)


async def cancelled_at(suspension: int, master: GoodMaster) -> bool:
    """Run a client to its end or to the cancellation; tell whether it was cancelled."""
    launcher = Launcher(master.url)

    async def run():
        await CancelledAt(launcher.client.run(), suspension)

    task = asyncio.ensure_future(run())
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    if not task.cancelled():
        assert isinstance(task.exception(), MasterError)
    return task.cancelled()


def test_a_cancellation_at_any_await_is_honoured_and_leaves_nothing_open():
    """A redirect, a subscription that is lost, then a fatal error: cancelled at each step."""

    async def scenario():
        lost = (TRANSCRIPTS / "02-launch.raw").read_bytes()
        streams = [lost, recorded_stream("10-teardown", 4)]
        for suspension in itertools.count(1):
            async with MasterThatPlays(*streams, piece=1000) as leader:
                location = f"//{leader.address}/master/api/v1/scheduler"
                async with MasterThatRedirects(location) as master:
                    was_cancelled = await cancelled_at(suspension, master)
                    assert asyncio.all_tasks() == {asyncio.current_task(), *server_tasks()}
                    await all_connections_closed()
            if not was_cancelled:
                break
        assert suspension > 10

    play(scenario)


def test_a_bug_in_the_receiver_of_events_is_not_hidden():
    def broken(event):
        raise ZeroDivisionError

    async def scenario():
        async with GoodMaster() as master:
            client = MesosClient(MasterList((master.url,)), INFO, broken, timing=CALM)
            with pytest.raises(ExceptionGroup) as caught:
                await client.run()
            assert caught.group_contains(ZeroDivisionError)

    play(scenario)


def test_a_subscription_without_a_framework_id_is_no_subscription():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                failing = group.create_task(launcher.failure())
                await launcher.next("SUBSCRIBED")
                master.send({**subscribed(), "subscribed": {}})
            assert "SUBSCRIBED without subscribed.framework_id.value" in failing.result()

    play(scenario)
