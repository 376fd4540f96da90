"""What tfmesos expects of the offers of a master, held against each kind of master there is.

Where the embedded Mesos differs from the genuine one, the embedded one is wrong.
"""

from __future__ import annotations

from .conftest import Node
from .framework import Framework, amounts, play
from .nodes import NODES


def test_every_agent_is_offered_with_what_it_has(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offers = await framework.offers(*NODES)
            assert {name: amounts(offer)["cpus"] for name, offer in offers.items()} == {
                "node-1": 1.0,
                "node-2": 2.0,
                "node-3": 3.0,
            }
            (rack,) = offers["node-3"]["attributes"]
            assert (rack["name"], rack["text"]["value"]) == ("rack", "r2")
            kinds = {it["name"]: it["type"] for it in offers["node-1"]["resources"]}
            assert kinds["ports"] == "RANGES"
            assert framework.subscription["subscribed"]["heartbeat_interval_seconds"] == 15.0

    play(scenario)


def test_a_declined_offer_comes_back_under_another_id(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            first = (await framework.offers(*NODES))["node-1"]
            await framework.client.decline([first["id"]["value"]], 0.0)
            second = (await framework.offers("node-1"))["node-1"]
            assert second["id"] != first["id"] and amounts(second) == amounts(first)

    play(scenario)


def test_a_refused_agent_is_offered_again_after_revive_only(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offers = await framework.offers(*NODES)
            await framework.client.decline([it["id"]["value"] for it in offers.values()], 3600.0)
            await framework.no_offer_for(1.5)
            await framework.client.revive()
            await framework.offers(*NODES)

    play(scenario)


def test_suppress_stops_the_offers_and_revive_brings_them_back(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offers = await framework.offers(*NODES)
            await framework.client.suppress()
            await framework.client.decline([it["id"]["value"] for it in offers.values()], 0.0)
            await framework.no_offer_for(1.5)
            await framework.client.revive()
            await framework.offers(*NODES)

    play(scenario)


GPU_NODES = (Node("plain", "cpus:1;mem:512"), Node("gpu", "cpus:1;mem:512;gpus:2"))


def test_agents_with_gpus_are_hidden_from_those_who_cannot_use_them(start_master):
    async def scenario():
        master = start_master(GPU_NODES)
        able = ("MULTI_ROLE", "GPU_RESOURCES")
        async with Framework(master).subscribed() as framework:
            assert set(await framework.offers("plain")) == {"plain"}
            await framework.no_offer_for(1.0)
        async with Framework(master, capabilities=able).subscribed() as framework:
            assert amounts((await framework.offers("gpu"))["gpu"])["gpus"] == 2.0

    play(scenario)


def test_agents_with_less_than_the_framework_can_use_are_not_offered(three_nodes):
    async def scenario():
        either = [{"cpus": {"value": 1.0}, "mem": {"value": 2500.0}}, {"gpus": {"value": 1.0}}]
        quantities = [{"quantities": one} for one in either]
        filters = {"*": {"min_allocatable_resources": {"quantities": quantities}}}
        async with Framework(three_nodes, offer_filters=filters).subscribed() as framework:
            assert set(await framework.offers("node-3")) == {"node-3"}
            await framework.no_offer_for(1.0)

    play(scenario)


def test_what_one_framework_holds_another_is_not_offered(three_nodes):
    async def scenario():
        async with (
            Framework(three_nodes).subscribed() as first,
            Framework(three_nodes).subscribed() as second,
        ):
            await first.offers(*NODES)
            await second.no_offer_for(1.0)

    play(scenario)
