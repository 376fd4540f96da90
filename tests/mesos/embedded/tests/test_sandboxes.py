"""The sandboxes of tasks: whose they are and what they hold."""

from __future__ import annotations

import os

import pytest

from tests.mesos.embedded.processes import make_sandbox

from .one_node import alive, pids, run
from .wire import task


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
    assert (sandbox.parent / "latest").resolve() == sandbox
    assert sandbox.parts[-4:-1] == ("executors", "t", "runs")
    assert tmp_path in sandbox.parents and (sandbox / "stdout").read_text() == "out\n"
