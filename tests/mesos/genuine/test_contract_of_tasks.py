"""What tfmesos expects of tasks, held against each kind of master there is."""

from __future__ import annotations

import pytest

from .framework import Framework, a_task, amounts, play, until
from .nodes import NODES


def states(statuses):
    return [status["state"] for status in statuses]


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


def test_a_killed_task_is_told_to_end_and_reported_as_killed(master, tmp_path):
    up = tmp_path / "up"

    async def scenario():
        async with Framework(master).subscribed() as framework:
            await framework.run(a_task(f"touch {up}; exec sleep 600"))
            await framework.status("TASK_RUNNING")
            await until("the command runs, and not only its launcher", up.exists)
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
