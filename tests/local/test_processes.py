"""Real tasks: what they see, how they end, and that nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import threading
import time

import psutil
import pytest

from tfmesos.local import AgentConfig, LocalMesos, Timing
from tfmesos.local.processes import make_sandbox

from .wire import Scheduler, appearance, framework, grace, task

NODE = AgentConfig("node-a", "cpus:8;mem:4096;ports:[31000-31009]")
FAST = Timing(kill_grace=0.2, allocation_interval=0.01)


def run(story, *agents, **options):
    async def main():
        async with LocalMesos(agents or [NODE], timing=FAST, **options) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            try:
                return await story(mesos, scheduler)
            finally:
                scheduler.close()

    return asyncio.run(main())


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def pids(mesos, *names: str) -> list[int]:
    """The process ids that task "t" wrote into these files."""
    sandbox = mesos.sandbox_of("t")
    return [int(await appearance(sandbox / name)) for name in names]


def test_a_task_gets_the_environment_of_mesos_and_nothing_of_ours(monkeypatch):
    monkeypatch.setenv("OURS", "secret")

    async def story(mesos, scheduler):
        variables = [{"name": "GREETING", "value": "Grüß Gott"}, {"name": "EMPTY"}]
        command = {"value": "env", "environment": {"variables": variables}}
        await scheduler.launch(await scheduler.offer(), task("t", command))
        await scheduler.state("t", "TASK_FINISHED")
        return mesos.sandbox_of("t"), (mesos.sandbox_of("t") / "stdout").read_text()

    sandbox, text = run(story)
    found = dict(line.split("=", 1) for line in text.splitlines())
    assert found["PATH"] == "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert found["MESOS_SANDBOX"] == found["MESOS_DIRECTORY"] == found["PWD"] == str(sandbox)
    assert found["MESOS_TASK_ID"] == found["MESOS_EXECUTOR_ID"] == "t"
    assert found["GREETING"] == "Grüß Gott" and found["EMPTY"] == ""
    assert "OURS" not in found and "HOME" not in found


def test_a_sandbox_is_private_and_holds_stdout_and_stderr():
    async def story(mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "echo out; echo err >&2"))
        await scheduler.state("t", "TASK_FINISHED")
        sandbox = mesos.sandbox_of("t")
        assert (sandbox / "stdout").read_text() == "out\n"
        assert (sandbox / "stderr").read_text() == "err\n"
        assert sandbox.stat().st_mode & 0o777 == 0o700
        assert (sandbox.parent / "latest").resolve() == sandbox.resolve()
        return sandbox

    assert not run(story).exists()


def test_there_is_no_directory_before_the_first_task_and_then_only_we_can_open_it():
    """Whatever is killed before has nothing to leave behind."""

    async def story(mesos, scheduler):
        offer = await scheduler.offer()
        assert not mesos.directory.exists()
        await scheduler.launch(offer, task("t", "true"))
        await scheduler.state("t", "TASK_FINISHED")
        return mesos.directory.stat().st_mode & 0o777

    assert run(story) == 0o700


@pytest.mark.parametrize("end", ["exit 0", "exit 3", "kill -9 $$", "wait"])
def test_what_left_the_session_of_its_task_does_not_outlive_it(end):
    """Also when the task is only killed at the very end."""
    daemon = "setsid sh -c 'trap : TERM; echo $$ > daemon; while :; do sleep 60; done' & "
    script = f"{daemon} until [ -s daemon ]; do sleep 0.01; done; {end}"

    async def story(mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", script))
        (daemon,) = await pids(mesos, "daemon")
        if end != "wait":
            await scheduler.state("t", "TASK_FINISHED" if end == "exit 0" else "TASK_FAILED")
            assert not alive(daemon)
        return daemon

    assert not alive(run(story, exit_grace=0.1))


@pytest.fixture
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], indirect=True)
def test_only_we_can_open_the_sandboxes_whatever_the_umask(umask, tmp_path):
    async def story(mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "true"))
        await scheduler.state("t", "TASK_FINISHED")
        sandbox = mesos.sandbox_of("t")
        return [mode(place) for place in (sandbox, sandbox.parent, mesos.directory)]

    assert run(story) == [0o700, 0o700, 0o700]
    assert run(story, work_dir=tmp_path / "work") == [0o700, 0o700, 0o700]


@pytest.mark.parametrize("umask", [0o000, 0o077], indirect=True)
def test_the_sandbox_of_another_user_is_open_within_a_directory_that_is_not(umask, tmp_path):
    make_sandbox(tmp_path / "runs" / "c", 0o777)
    assert mode(tmp_path / "runs" / "c") == 0o777
    assert mode(tmp_path / "runs") == 0o700


def test_a_given_work_directory_is_kept(tmp_path):
    async def story(mesos, scheduler):
        await scheduler.launch(await scheduler.offer(), task("t", "echo out"))
        await scheduler.state("t", "TASK_FINISHED")
        return mesos.sandbox_of("t", scheduler.framework_id)

    sandbox = run(story, work_dir=tmp_path / "work")
    assert tmp_path in sandbox.parents and (sandbox / "stdout").read_text() == "out\n"


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


def test_a_task_that_ignores_sigterm_is_killed_after_its_grace():
    async def story(mesos, scheduler):
        ignores = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", ignores, **grace(0.3)))
        (pid,) = await pids(mesos, "pid")
        begin = time.monotonic()
        await scheduler.kill("t")
        status = await scheduler.state("t", "TASK_KILLED")
        return status["message"], time.monotonic() - begin, pid

    message, took, pid = run(story)
    assert message == "Command terminated with signal Killed"
    assert took >= 0.3 and not alive(pid)


def test_what_a_task_leaves_behind_dies_with_it():
    leaves = (
        "(trap '' TERM HUP; echo $BASHPID > child; exec sleep 1000) & "
        "set -m; (trap '' TERM HUP; echo $BASHPID > apart; exec sleep 1000) & "
        "while [ ! -s child ] || [ ! -s apart ]; do sleep 0.01; done; exit 0"
    )

    async def story(mesos, scheduler):
        command = {"shell": False, "value": "bash", "arguments": ["bash", "-c", leaves]}
        await scheduler.launch(await scheduler.offer(), task("t", command))
        await scheduler.state("t", "TASK_FINISHED")
        found = await pids(mesos, "child", "apart")
        return [alive(pid) for pid in found]

    assert run(story) == [False, False]


def test_teardown_ends_every_process_of_the_framework_and_no_other():
    async def story(mesos, scheduler):
        other = await Scheduler.subscribe(mesos.url, framework(name="other"))
        first = await scheduler.offer()
        await scheduler.launch(first, task("t", "echo $$ > pid; exec sleep 1000"), refuse=3600)
        await other.launch(await other.offer(), task("o", "exec sleep 1000"), refuse=3600)
        (mine,) = await pids(mesos, "pid")
        theirs = (await other.state("o", "TASK_RUNNING"))["container_status"]["executor_pid"]
        before = len(other.offers())
        await scheduler.call("TEARDOWN")
        assert await scheduler.over() == "clean"
        await other.offer(before)  # what the process held is offered when it is gone
        result = alive(mine), alive(theirs)
        other.close()
        return result

    assert run(story) == (False, True)


def test_however_the_block_is_left_no_process_is():
    found = []

    async def story(mesos, scheduler):
        stubborn = "trap '' TERM; echo $$ > pid; sleep 1000 & while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", stubborn))
        found.extend(await pids(mesos, "pid"))
        found.extend(child.pid for child in psutil.Process(found[0]).children(recursive=True))
        raise RuntimeError("the test fails here")

    with pytest.raises(RuntimeError):
        run(story, exit_grace=0.1)
    assert found and not any(map(alive, found))


@pytest.mark.parametrize("turns", [1, 2, 3, 10, 100])
def test_cancelling_the_way_out_leaves_no_process_either(turns):
    async def main():
        mesos = LocalMesos([NODE], exit_grace=0.3)
        await mesos.__aenter__()
        scheduler = await Scheduler.subscribe(mesos.url, framework())
        stubborn = "trap '' TERM; echo $$ > pid; while :; do sleep 1; done"
        await scheduler.launch(await scheduler.offer(), task("t", stubborn))
        found = await pids(mesos, "pid")
        sandbox = mesos.sandbox_of("t")
        scheduler.close()
        leaving = asyncio.create_task(mesos.__aexit__(None, None, None))
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        return alive(found[0]), sandbox.exists()

    assert asyncio.run(main()) == (False, False)


def test_leaving_takes_no_time_when_no_task_runs():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", "true"))
            await scheduler.state("t", "TASK_FINISHED")
            begin = time.monotonic()
        took = time.monotonic() - begin
        ended = await scheduler.over()
        scheduler.close()
        return took, ended

    took, ended = asyncio.run(main())
    assert took < 0.5
    assert ended == "cut"  # as when a master dies


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
