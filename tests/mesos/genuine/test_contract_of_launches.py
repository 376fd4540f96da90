"""Launches that a master refuses, held against each kind of master there is."""

from __future__ import annotations

from .framework import Framework, a_task, play, scalar
from .nodes import NODES


def test_a_task_bigger_than_the_offer_is_an_error_and_its_neighbour_runs(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task("true", "big", cpus=1000.0), a_task("true"))
            status = await framework.status("TASK_ERROR", task_id="big")
            assert status["reason"] == "REASON_TASK_INVALID" and "uuid" not in status
            assert "more than available" in status["message"]
            await framework.status("TASK_FINISHED")

    play(scenario)


def test_a_second_task_of_the_same_id_is_an_error_and_the_first_goes_on(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task("exec sleep 600"))
            await framework.status("TASK_RUNNING")
            await framework.client.revive()
            await framework.run(a_task("true"))
            status = await framework.status("TASK_ERROR")
            assert status["reason"] == "REASON_TASK_INVALID" and "duplicate ID" in status["message"]
            await framework.client.reconcile()
            assert (await framework.status("TASK_RUNNING"))["reason"] == "REASON_RECONCILIATION"

    play(scenario)


def test_tasks_on_an_offer_that_is_used_up_are_dropped(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            offer = await framework.run(a_task("true"))
            await framework.launch(offer, a_task("true", "late"))
            status = await framework.status("TASK_DROPPED", task_id="late")
            assert status["reason"] == "REASON_INVALID_OFFERS" and "uuid" not in status

    play(scenario)


def test_offers_of_two_agents_cannot_be_joined(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offers = await framework.offers(*NODES)
            first, second = offers["node-1"], offers["node-2"]
            task = {**a_task("true"), "agent_id": first["agent_id"]}
            await framework.client.accept([it["id"]["value"] for it in (first, second)], [task], 0)
            status = await framework.status("TASK_DROPPED")
            assert status["reason"] == "REASON_INVALID_OFFERS"

    play(scenario)


def test_two_offers_of_one_agent_are_joined(three_nodes, tmp_path):
    go = tmp_path / "go"
    wait = f"until [ -e {go} ]; do sleep 0.05; done"

    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offer = (await framework.offers(*NODES))["node-2"]
            await framework.launch(offer, a_task(wait, "a", cpus=1.0))
            one = (await framework.offers("node-2"))["node-2"]
            go.touch()
            await framework.status("TASK_FINISHED", task_id="a")
            other = (await framework.offers("node-2"))["node-2"]
            task = {**a_task("true", cpus=2.0), "agent_id": offer["agent_id"]}
            await framework.client.accept([it["id"]["value"] for it in (one, other)], [task], 0)
            await framework.status("TASK_FINISHED")

    play(scenario)


def test_ports_that_were_not_offered_cannot_be_had(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            ports = {"name": "ports", "type": "RANGES", "allocation_info": {"role": "*"}}
            ports["ranges"] = {"range": [{"begin": 1, "end": 1}]}
            resources = [scalar("cpus", 0.1), scalar("mem", 32.0), ports]
            await framework.run(a_task("true", resources=resources))
            assert (await framework.status("TASK_ERROR"))["reason"] == "REASON_TASK_INVALID"

    play(scenario)
