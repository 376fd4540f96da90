"""The events of a subscription."""

from __future__ import annotations

import asyncio

import pytest

from tests.fake_masters import (
    TRANSCRIPTS,
    GoodMaster,
    MasterThatPlays,
    recorded_stream,
    transcript,
    update,
)

from .clients import Launcher, play


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
            assert "event stream of a Mesos master" in failing.result()

    play(scenario)
