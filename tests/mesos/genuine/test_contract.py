"""What tfmesos expects of a master, held against each kind of master there is.

Where the embedded Mesos differs from the genuine one, the embedded one is wrong.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tfmesos.errors import MasterError

from .conftest import Node
from .framework import Framework, a_task, amounts, play, scalar, until

NODES = ("node-1", "node-2", "node-3")


def states(statuses):
    return [status["state"] for status in statuses]


# Offers


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


# Tasks


def test_a_task_starts_runs_and_finishes(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task("true"))
            statuses = await framework.statuses()
            assert states(statuses) == ["TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"]
            assert {status["source"] for status in statuses} == {"SOURCE_EXECUTOR"}
            assert all(status["uuid"] and status["agent_id"] for status in statuses)
            assert statuses[-1]["message"] == "Command exited with status 0"

    play(scenario)


@pytest.mark.parametrize(
    "command, message",
    [
        ("exit 3", "Command exited with status 3"),
        ("kill -9 $$", "Command terminated with signal Killed"),
        ("/no/such/command", "Command exited with status 127"),
    ],
)
def test_a_failure_says_how_the_command_ended(master, command, message):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task(command))
            status = await framework.status("TASK_FAILED")
            assert status["message"] == message and "reason" not in status

    play(scenario)


def test_a_program_without_a_shell_gets_its_arguments_as_they_are(master, tmp_path):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            script = f'printf "%s|" "$@" > {tmp_path}/seen'
            arguments = ["sh", "-c", script, "sh", "a b", "$HOME"]
            command = {"shell": False, "value": "/bin/sh", "arguments": arguments}
            await framework.run(a_task(command))
            await framework.status("TASK_FINISHED")
            assert (tmp_path / "seen").read_text() == "a b|$HOME|"

    play(scenario)


def test_a_task_runs_in_its_sandbox_with_an_environment_of_its_own(master, tmp_path):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            script = f'[ "$PWD" = "$MESOS_SANDBOX" ] && env > {tmp_path}/env'
            variables = [{"name": "GREETING", "value": "hällo you"}]
            command = {"value": script, "environment": {"variables": variables}}
            await framework.run(a_task(command))
            await framework.status("TASK_FINISHED")
            return

    play(scenario)
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    assert seen["GREETING"] == "hällo you"
    assert seen["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert seen["MESOS_ALLOCATION_ROLE"] == "*"
    assert {"MESOS_FRAMEWORK_ID", "MESOS_EXECUTOR_ID", "MESOS_DIRECTORY"} <= set(seen)
    assert "TMPDIR" not in seen and "XDG_CACHE_HOME" not in seen


def test_several_tasks_go_on_one_offer_and_the_rest_is_offered_again(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offer = (await framework.offers(*NODES))["node-3"]
            tasks = [a_task("sleep 600", name, cpus=1.0) for name in ("a", "b")]
            await framework.launch(offer, *tasks)
            rest = (await framework.offers("node-3"))["node-3"]
            assert amounts(rest) == {"cpus": 1.0, "mem": 3072.0 - 2 * 32.0, "disk": 512.0}

    play(scenario)


def test_the_resources_of_an_ended_task_are_offered_again(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offer = (await framework.offers(*NODES))["node-1"]
            await framework.launch(offer, a_task("true", cpus=1.0, mem=1024.0))
            assert amounts((await framework.offers("node-1"))["node-1"])["cpus"] == 1.0

    play(scenario)


# Kills


def test_a_killed_task_is_told_to_end_and_reported_as_killed(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task("exec sleep 600"))
            await framework.status("TASK_RUNNING")
            await framework.client.kill("t")
            statuses = await framework.statuses()
            assert states(statuses) == ["TASK_KILLING", "TASK_KILLED"]
            assert statuses[-1]["message"] == "Command terminated with signal Terminated"

    play(scenario)


def test_without_the_capability_nobody_hears_of_the_killing(master):
    async def scenario():
        framework = Framework(master, capabilities=("MULTI_ROLE", "PARTITION_AWARE"))
        async with framework.subscribed():
            await framework.run(a_task("exec sleep 600"))
            await framework.status("TASK_RUNNING")
            await framework.client.kill("t")
            assert states(await framework.statuses()) == ["TASK_KILLED"]

    play(scenario)


def test_a_task_that_will_not_end_is_killed_after_the_grace_of_its_kill_policy(master, tmp_path):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            ready = tmp_path / "ready"
            stubborn = f"trap '' TERM; touch {ready}; while :; do sleep 0.05; done"
            policy = {"grace_period": {"nanoseconds": 300_000_000}}
            await framework.run(a_task(stubborn, kill_policy=policy))
            await framework.status("TASK_RUNNING")
            await until("the trap is set", ready.exists)
            await framework.client.kill("t")
            status = await framework.status("TASK_KILLED")
            assert status["message"] == "Command terminated with signal Killed"

    play(scenario)


def test_a_task_that_ends_well_when_killed_was_killed_all_the_same(master, tmp_path):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            ready = tmp_path / "ready"
            polite = f"trap 'exit 0' TERM; touch {ready}; while :; do sleep 0.05; done"
            await framework.run(a_task(polite))
            await until("the trap is set", ready.exists)
            await framework.client.kill("t")
            status = await framework.status("TASK_KILLED")
            assert status["message"] == "Command exited with status 0"

    play(scenario)


def test_killing_a_task_nobody_knows_is_answered(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.client.kill("nobody")
            status = await framework.status("TASK_UNKNOWN", task_id="nobody")
            assert status["source"] == "SOURCE_MASTER" and "uuid" not in status

    play(scenario)


# Launches that cannot be


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


def test_two_offers_of_one_agent_are_joined(three_nodes):
    async def scenario():
        async with Framework(three_nodes).subscribed() as framework:
            offer = (await framework.offers(*NODES))["node-2"]
            await framework.launch(offer, a_task("sleep 0.3", "a", cpus=1.0))
            one = (await framework.offers("node-2"))["node-2"]
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


# Frameworks


def test_reconciliation_tells_what_runs_and_what_is_not_known(master):
    async def scenario():
        async with Framework(master).subscribed() as framework:
            offer = await framework.run(a_task("exec sleep 600"))
            await framework.status("TASK_RUNNING")
            agent = offer["agent_id"]["value"]
            await framework.client.reconcile([("t", agent), ("x", agent), ("y", None)])
            found = {}
            while set(found) != {"t", "x", "y"}:
                status = (await framework.next("UPDATE"))["update"]["status"]
                assert status["reason"] == "REASON_RECONCILIATION" and "uuid" not in status
                found[status["task_id"]["value"]] = status["state"]
            assert found == {"t": "TASK_RUNNING", "x": "TASK_GONE", "y": "TASK_UNKNOWN"}

    play(scenario)


async def run_a_process(framework, directory):
    """Run a task; return what exists in /proc as long as its process runs."""
    pid = directory / "pid"
    await framework.run(a_task(f"echo $$ > {pid}.new; mv {pid}.new {pid}; exec sleep 600"))
    await until("the task is up", pid.exists)
    return Path("/proc") / pid.read_text().strip() / "exe"


def test_a_torn_down_framework_leaves_no_task_and_cannot_come_back(master, tmp_path):
    async def scenario():
        framework = Framework(master)
        async with framework.connected():
            process = await run_a_process(framework, tmp_path)
            assert await framework.client.teardown()
        await until("its process is gone", lambda: not process.exists())
        again = Framework(master)
        again.client.framework_id = framework.client.framework_id
        with pytest.raises(MasterError, match="Framework has been removed"):
            await again.client.run()

    play(scenario)


def test_a_framework_that_comes_back_finds_its_tasks_and_the_news_it_missed(master, tmp_path):
    async def scenario():
        first, second = Framework(master), Framework(master)
        go = tmp_path / "go"
        async with first.connected():
            await first.run(a_task(f"until [ -e {go} ]; do sleep 0.05; done; exit 7"))
            await first.status("TASK_RUNNING")
        go.touch()
        second.client.framework_id = first.client.framework_id
        async with second.subscribed():
            subscribed = second.subscription["subscribed"]
            assert subscribed["framework_id"]["value"] == first.client.framework_id
            status = await second.status("TASK_FAILED")
            assert status["message"] == "Command exited with status 7" and status["uuid"]

    play(scenario)


def test_a_newcomer_with_the_same_id_replaces_the_older_one(master):
    async def scenario():
        first, second = Framework(master), Framework(master)
        with pytest.raises(ExceptionGroup) as caught:
            async with first.connected():
                await first.run(a_task("exec sleep 600"))
                await first.status("TASK_RUNNING")
                second.client.framework_id = first.client.framework_id
                async with second.subscribed():
                    await second.client.reconcile()
                    await second.status("TASK_RUNNING")
                    await asyncio.Event().wait()  # until the older one is thrown out
        assert caught.group_contains(MasterError, match="Framework failed over", depth=1)
        second = Framework(master)
        second.client.framework_id = first.client.framework_id
        async with second.subscribed():
            pass

    play(scenario)


def test_a_framework_that_goes_for_good_takes_its_tasks_along(master, tmp_path):
    async def scenario():
        framework = Framework(master, failover_timeout=0.2)
        async with framework.connected():
            process = await run_a_process(framework, tmp_path)
        await until("its process is gone", lambda: not process.exists())

    play(scenario)


@pytest.mark.parametrize("role", ["/ml", "a b", "..", "-x"])
def test_a_role_that_cannot_be_is_refused_with_the_masters_words(master, role):
    async def scenario():
        with pytest.raises(MasterError, match=r"reports an error: .*[Rr]ole"):
            await Framework(master, roles=[role]).client.run()

    play(scenario)
