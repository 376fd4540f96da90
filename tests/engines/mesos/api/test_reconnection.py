"""A lost master is found again, or given up."""

from __future__ import annotations

import asyncio
import time

from tests.fake_masters import (
    GoodMaster,
    MasterThatDiesInTheMiddleOfARecord,
)

from .clients import INFO, QUICK, Launcher, play


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


def test_a_master_is_not_lost_because_this_process_was_stopped():
    async def scenario():
        async with GoodMaster(heartbeat=0.1) as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()  # by then it listens again
                time.sleep(1.2)  # noqa: ASYNC251 -- as a SIGSTOP would; the clock goes on
                master.send({"type": "RESCIND"})
                assert (await launcher.events.get())["type"] == "RESCIND"

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
