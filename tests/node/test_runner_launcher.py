"""A runner whose launcher is not there, not the right one, or lost."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess

import pytest

from tests.ports import free_port
from tests.runners import (
    Proxy,
    end_at_a_late_launcher,
    gone,
    launcher,
    runner,
    settings,
)
from tfmesos.core.events import (
    RunnerBack,
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.errors import (
    BAD_SETTINGS,
    CANNOT_REACH_LAUNCHER,
    HANDSHAKE_FAILED,
    LAUNCHER_LOST,
)
from tfmesos.launcher.missing_output import unpack
from tfmesos.shared import held_directory, undelivered
from tfmesos.shared.address import join_address


def test_a_launcher_that_cannot_be_reached_is_one_clear_line(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = silent.getsockname()
        with runner(tmp_path, settings(address, connect_timeout=0.3)) as theirs:
            assert theirs.wait() == CANNOT_REACH_LAUNCHER
    where, why = join_address(*address), "cannot be reached from this node: Connection refused"
    assert theirs.stderr == f"tfmesos runner: the launcher at {where} {why}\n"


def test_a_launcher_that_comes_late_is_found(tmp_path):
    async def main():
        with socket.create_server(("127.0.0.1", free_port())) as somebody_else:
            address = somebody_else.getsockname()
            theirs = started.enter_context(runner(tmp_path, settings(address)))
            (await asyncio.to_thread(somebody_else.accept))[0].close()
        return await end_at_a_late_launcher(theirs, address)

    with contextlib.ExitStack() as started:
        assert asyncio.run(main()) == 0


def test_a_runner_with_the_wrong_secret_says_so_and_runs_nothing(tmp_path):
    async def main():
        async with launcher() as ours:
            ours.start("echo no > ran")
            with runner(tmp_path, settings(ours.address), secret=b"x" * 32) as theirs:
                return ours, await theirs.exited(), theirs

    ours, code, theirs = asyncio.run(main())
    assert code == HANDSHAKE_FAILED
    assert "did not prove the secret" in theirs.stderr
    assert theirs.stderr.count("\n") == 1
    assert ours.events == []
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"launcher": "nowhere"}'])
def test_settings_that_make_no_sense_are_one_clear_line(tmp_path, text):
    with runner(tmp_path, {}, TFMESOS_RUNNER=text) as theirs:
        assert theirs.wait() == BAD_SETTINGS
    assert theirs.stderr.startswith("tfmesos runner: bad settings in the environment")


def test_a_lost_launcher_means_the_end_of_the_command(tmp_path):
    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address, grace=0.3, stop_grace=0.2)) as theirs:
                ours.start(
                    "trap '' TERM; echo $$; sleep 60; sleep 60", finalizer="echo > finalized"
                )
                pid = int((await ours.until(lambda: ours.lines()))[0])
                proxy.cut(for_good=True)
                return pid, await theirs.exited(), theirs

    pid, code, theirs = asyncio.run(main())
    assert code == LAUNCHER_LOST
    assert gone(pid)
    assert (tmp_path / "finalized").exists()
    assert "is lost" in theirs.stderr


@pytest.mark.parametrize("others", [True, False])
def test_the_directory_of_the_embedded_mesos_is_removed_by_the_last_who_needs_it(tmp_path, others):
    """The launcher, if it lives and only cannot be reached, or another runner."""
    directory = tmp_path / "scratch"
    directory.mkdir()
    held = held_directory.hold(str(directory))

    async def main():
        values = {"grace": 0, "scratch": str(directory)}
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address, **values)) as theirs:
                ours.start("sleep 60")
                await ours.saw(TaskReady)
                if not others:
                    os.close(held)
                proxy.cut(for_good=True)
                return await theirs.exited()

    assert asyncio.run(main()) == LAUNCHER_LOST
    assert directory.exists() == others
    if others:
        os.close(held)


def test_a_launcher_that_its_user_has_stopped_is_waited_for(tmp_path):
    owner = subprocess.Popen(["sleep", "100"])
    owner.send_signal(signal.SIGSTOP)

    async def main():
        values = {"grace": 0.2, "owner": owner.pid}
        async with launcher(grace=60) as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address, **values)) as theirs:
                ours.start("sleep 60")
                await ours.saw(TaskReady)
                proxy.cut(for_good=True)
                await asyncio.sleep(1.0)  # five times as long as it waits for others
                assert theirs.process.poll() is None
                proxy.mend()
                await ours.saw(RunnerBack)
                proxy.cut(for_good=True)
                owner.kill()
                return await theirs.exited()

    try:
        assert asyncio.run(main()) == LAUNCHER_LOST
    finally:
        owner.kill()
        owner.wait()


def test_a_launcher_that_falls_silent_is_lost_as_well(tmp_path):
    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            values = settings(proxy.address, heartbeat=0.1, silence=0.3, grace=0)
            with runner(tmp_path, values) as theirs:
                ours.start("echo $$; exec sleep 60")
                await ours.until(lambda: ours.lines())
                proxy.freeze()
                return await theirs.exited(), theirs

    code, theirs = asyncio.run(main())
    assert code == LAUNCHER_LOST
    assert gone(int(theirs.stdout))
    assert theirs.stderr.endswith("is lost: the launcher stopped responding\n")


def test_a_launcher_on_the_same_machine_may_be_silent_however_long(tmp_path):
    """It has been stopped; had it ended, its connection would have."""

    async def main():
        async with launcher(heartbeat=60) as ours:
            values = settings(ours.address, heartbeat=0.1, silence=0.2, grace=0, same_machine=True)
            with runner(tmp_path, values) as theirs:
                ours.start("sleep 2; echo still here")
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.lines()) == (0, ["still here"])
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskReady, TaskExited]


def test_a_runner_that_gives_up_leaves_what_was_not_taken_in_its_sandbox(tmp_path):
    async def main():
        async with launcher(grace=60) as ours, Proxy(ours.address).running() as proxy:
            values = settings(proxy.address, grace=0.2, heartbeat=0.1)
            with runner(tmp_path, values) as theirs:
                ours.start("echo one; sleep 60")
                await ours.until(lambda: ours.lines())
                proxy.cut(for_good=True)
                return await theirs.exited(), ours.rendezvous.unreported()

    code, ((_, received),) = asyncio.run(main())
    text = (tmp_path / undelivered.FILE).read_text()
    (report,), is_all = unpack(text, received)
    assert (code, report["code"], is_all) == (LAUNCHER_LOST, LAUNCHER_LOST, True)
