"""Calls on the wire, and what becomes of those that are refused or lost."""

from __future__ import annotations

import asyncio
import logging

import pytest

from tests.fake_masters import (
    GoodMaster,
    MasterThatLosesCalls,
    MasterThatRefusesCalls,
    update,
)
from tfmesos.config.secret import Secret

from .clients import INFO, Launcher, play


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


def test_a_call_that_gets_lost_ends_the_subscription():
    async def scenario():
        async with MasterThatLosesCalls() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.revive()
                assert "REVIVE was lost" in (await launcher.next("DISCONNECTED"))["reason"]
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
