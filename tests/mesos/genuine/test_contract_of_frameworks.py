"""What tfmesos expects for frameworks, held against each kind of master there is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tfmesos.errors import MasterError

from .framework import Framework, a_task, play, until


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
