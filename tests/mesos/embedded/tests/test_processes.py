"""Tasks as processes of this machine."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from tests.bounds import HANG
from tests.mesos.embedded import AgentConfig, LocalMesos

from .one_node import FAST, NODE, alive, run
from .wire import Scheduler, framework, task


def test_without_a_shell_the_arguments_arrive_as_they_are():
    async def story(mesos, scheduler):
        command = {"shell": False, "value": "printf", "arguments": ["printf", "%s|", "a b", "$x"]}
        await scheduler.launch(await scheduler.offer(), task("t", command))
        await scheduler.state("t", "TASK_FINISHED")
        return (mesos.sandbox_of("t") / "stdout").read_text()

    assert run(story) == "a b|$x|"


def test_a_program_that_is_not_there_runs_and_fails_and_says_why():
    async def story(mesos, scheduler):
        command = {"shell": False, "value": "/no/such/program"}
        await scheduler.launch(await scheduler.offer(), task("t", command))
        await scheduler.state("t", "TASK_FAILED")
        states = scheduler.states("t")
        return states, (mesos.sandbox_of("t") / "stderr").read_text()

    states, text = run(story)
    assert states == ["TASK_STARTING", "TASK_RUNNING", "TASK_FAILED"]
    assert text == "Failed to execute '/no/such/program': No such file or directory\n"


@pytest.mark.parametrize(
    "fields, words",
    [
        ({"container": {"type": "MESOS", "volumes": [{"mode": "RW"}]}}, "only into images"),
        ({"command": {"value": "true", "uris": [{"value": "x"}]}}, "has no fetcher"),
        ({"command": {"value": "true \0"}}, "null byte"),
    ],
)
def test_what_the_agent_cannot_do_fails_in_words(fields, words):
    async def story(_mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), {**task("t", "true"), **fields})
        return await scheduler.state("t", "TASK_FAILED")

    status = run(story)
    assert status["reason"] == "REASON_CONTAINER_LAUNCH_FAILED"
    assert status["source"] == "SOURCE_AGENT" and words in status["message"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_who_is_not_root_refuses_to_run_tasks_as_others(open_place):
    """In a process of its own, which cannot come back from being nobody."""
    open_place.mkdir()
    open_place.chmod(0o777)
    pid = os.fork()
    if pid == 0:
        os.setgid(65534)
        os.setuid(65534)
        try:
            asyncio.run(refused(open_place / "of nobody"))
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


async def refused(work_dir):
    async with LocalMesos([NODE], timing=FAST, work_dir=work_dir, switch_user=True) as mesos:
        scheduler = await Scheduler.subscribe(mesos.url, framework(user="root"))
        await scheduler.launch(await scheduler.offer(), task("t", "true"))
        status = await scheduler.state("t", "TASK_DROPPED")
        assert "Failed to chown directory to 'root': Operation not permitted" in status["message"]
        scheduler.close()


# Lets a container be made, and its output have no file.
DOCKER = r"""#!/bin/sh
for word; do
    place=${word#type=bind,source=}
    case $1$word in createtype=bind,*/mnt/mesos/sandbox) mkdir "${place%%,target=*}/stdout" ;; esac
done
"""


def with_docker(tmp_path, monkeypatch, script):
    (tmp_path / "docker").write_text(script)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.parametrize("image", ["-v/:/host", "--privileged"])
@pytest.mark.parametrize("pulled", [True, False])
def test_an_image_that_docker_would_take_for_a_flag_is_refused(
    image, pulled, tmp_path, monkeypatch
):
    with_docker(tmp_path, monkeypatch, f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    container = {"type": "DOCKER", "docker": {"image": image, "force_pull_image": pulled}}

    async def story(_mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "true", container=container))
        return await scheduler.state("t", "TASK_FAILED")

    assert run(story)["message"].endswith(f"'{image}' is not the name of an image")
    assert image not in (tmp_path / "calls").read_text()


def test_a_container_that_cannot_be_started_fails_in_words(tmp_path, monkeypatch):
    with_docker(tmp_path, monkeypatch, DOCKER)
    image = {"type": "DOCKER", "docker": {"image": "some/image"}}

    async def story(_mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "true", container=image))
        return await scheduler.state("t", "TASK_FAILED")

    status = run(story)
    assert status["reason"] == "REASON_CONTAINER_LAUNCH_FAILED"
    assert "Is a directory" in status["message"]


def test_leaving_waits_for_nobody_when_no_task_runs():
    async def main():
        async with LocalMesos([NODE], exit_grace=10 * HANG) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", "true"))
            await scheduler.state("t", "TASK_FINISHED")
        ended = await scheduler.over()
        scheduler.close()
        return ended

    assert asyncio.run(main()) == "cut"  # as when a master dies


def test_it_works_in_the_loop_of_a_background_thread():
    result = []

    async def story(_mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "exit 3"))
        result.append((await scheduler.state("t", "TASK_FAILED"))["message"])

    thread = threading.Thread(target=run, args=(story,))
    thread.start()
    thread.join()
    assert result == ["Command exited with status 3"]


def test_a_platform_without_pidfds_is_served_by_threads(monkeypatch):
    monkeypatch.delattr(os, "pidfd_open")

    async def story(_mesos, scheduler):
        tasks = [task("fails", "exit 3"), task("stays", "exec sleep 1000")]
        await scheduler.launch(await scheduler.offer(), *tasks)
        await scheduler.state("stays", "TASK_RUNNING")
        await scheduler.kill("stays")
        await scheduler.state("stays", "TASK_KILLED")
        return (await scheduler.state("fails", "TASK_FAILED"))["message"]

    assert run(story) == "Command exited with status 3"


def test_two_frameworks_run_their_tasks_at_the_same_time():
    async def story(mesos, scheduler):
        other = await Scheduler.subscribe(mesos.url, framework(name="other"))
        first = await scheduler.offer()
        await scheduler.launch(first, task("t", "exec sleep 1000", cpus=2), refuse=3600)
        second = await other.offer()
        await other.launch(second, task("t", "exec sleep 1000", cpus=2))
        one = await scheduler.state("t", "TASK_RUNNING")
        two = await other.state("t", "TASK_RUNNING")
        other.close()
        return one["container_status"]["executor_pid"], two["container_status"]["executor_pid"]

    one, two = run(story)
    assert one != two and not alive(one) and not alive(two)


def test_the_death_of_an_agent_kills_its_tasks_and_it_comes_back_as_a_new_one():
    nodes = [AgentConfig(name, "cpus:2;mem:512") for name in ("node-a", "node-b")]

    async def story(mesos, scheduler):
        offer = await scheduler.offer()
        await scheduler.launch(offer, task("t", "exec sleep 1000"))
        status = await scheduler.state("t", "TASK_RUNNING")
        pid = status["container_status"]["executor_pid"]
        mesos.kill_agent(offer["hostname"])
        await scheduler.state("t", "TASK_UNREACHABLE")
        await scheduler.until(lambda: not alive(pid) or scheduler.of_type("FAILURE"))
        before = len(scheduler.offers())
        mesos.bring_back(offer["hostname"])
        again = await scheduler.offer(before)
        return offer, again

    offer, again = run(story, *nodes)
    assert again["hostname"] == offer["hostname"] and again["agent_id"] != offer["agent_id"]


def test_sixty_four_tasks_of_one_accept_all_run():
    async def story(_mesos, scheduler):
        tasks = [task(f"t{number}", "exec sleep 1000") for number in range(64)]
        await scheduler.launch(await scheduler.offer(), *tasks)
        for each in tasks:
            await scheduler.state(each["name"], "TASK_RUNNING")
        return len({s["container_status"]["executor_pid"] for s in _running(scheduler)})

    assert run(story) == 64


def _running(scheduler):
    statuses = (event["update"]["status"] for event in scheduler.of_type("UPDATE"))
    return [status for status in statuses if status["state"] == "TASK_RUNNING"]
