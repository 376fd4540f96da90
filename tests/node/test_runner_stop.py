"""A task ends when it is told to, and leaves no process."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import time

import pytest

from tests.bounds import HANG
from tests.runners import (
    gone,
    launcher,
    run,
    runner,
    settings,
    the_exit,
)
from tfmesos.core.events import (
    RunnerLost,
    TaskExited,
    TaskRegistered,
)
from tfmesos.errors import (
    EVICTED,
    RUNNER_BROKEN,
)
from tfmesos.shared import process


def until_stopped(sandbox, command, stop, **start):
    """Start, wait for the first line of output, *stop(ours, theirs)*, and wait for the end."""

    async def main():
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, stop_grace=0.2)) as theirs:
                ours.start(command, **start)
                await ours.until(lambda: ours.lines())
                began = time.monotonic()
                stop(ours, theirs)
                await ours.saw(TaskExited)
                return ours, await theirs.exited(), time.monotonic() - began

    return asyncio.run(main())


def test_a_stop_lets_the_command_end_by_itself(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "trap 'echo bye; exit 7' TERM; echo; while :; do sleep 0.05; done",
        lambda ours, _: ours.send(type="stop", grace=10, reason="enough"),
        finalizer="echo last",
    )
    assert ours.lines() == ["", "bye", "last"]
    assert (code, the_exit(ours)[0]) == (0, 7)  # for the operator it has not failed
    assert [event.was_stopped for event in ours.events if isinstance(event, TaskExited)] == [True]


def test_a_task_that_its_agent_ends_was_not_stopped_by_us(tmp_path):
    ours, _, _ = until_stopped(
        tmp_path,
        "echo; while :; do sleep 0.05; done",
        lambda _, theirs: theirs.process.send_signal(signal.SIGTERM),
    )
    (ended,) = [event for event in ours.events if isinstance(event, TaskExited)]
    assert not ended.was_stopped and ended.reason.startswith(EVICTED)


def test_a_command_that_ignores_sigterm_is_killed_after_the_grace_time(tmp_path):
    ours, code, took = until_stopped(
        tmp_path,
        ["bash", "-c", "trap '' TERM; echo $$; sleep 600; sleep 600"],
        lambda ours, _: ours.send(type="stop", grace=0.3, reason="enough"),
    )
    assert (code, the_exit(ours)[0]) == (0, 137)
    assert 0.3 <= took < HANG
    assert gone(int(ours.lines()[0]))


def test_a_second_stop_kills_at_once(tmp_path):
    def stop_twice(ours, _):
        ours.send(type="stop", grace=600, reason="enough")
        ours.send(type="stop", grace=0, reason="really")

    ours, code, took = until_stopped(
        tmp_path, "trap '' TERM; echo; sleep 600; sleep 600", stop_twice
    )
    assert (code, the_exit(ours)[0]) == (0, 137)
    assert took < HANG


def test_the_finalizer_of_a_stopped_task_has_the_grace_time_and_no_more(tmp_path):
    ours, code, took = until_stopped(
        tmp_path,
        "echo; exec sleep 600",
        lambda ours, _: ours.send(type="stop", grace=0.3, reason="enough"),
        finalizer="echo last; exec sleep 600",
    )
    assert (code, *the_exit(ours)) == (0, 143, "was killed by SIGTERM (signal 15)")
    assert ours.lines() == ["", "last"]
    assert took < HANG


def test_a_stop_in_the_initializer_keeps_the_command_from_running(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "echo no",
        lambda ours, _: ours.send(type="stop", grace=5, reason="enough"),
        initializer="trap 'exit 0' TERM; echo first; while :; do sleep 0.05; done",
    )
    assert ours.lines() == ["first"]
    assert (code, *the_exit(ours)) == (0, 143, "was stopped before its command")


def test_sigterm_stops_the_command_and_is_reported(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "trap '' TERM; echo; sleep 60; sleep 60",
        lambda _, theirs: theirs.process.send_signal(signal.SIGTERM),
    )
    reason = "was ended by its node: it was killed by SIGKILL (signal 9)"
    assert (code, *the_exit(ours)) == (137, 137, reason)


def test_a_command_that_ends_well_when_the_agent_ends_it_has_failed_all_the_same(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "trap 'exit 0' TERM; echo; while :; do sleep 0.05; done",
        lambda _, theirs: theirs.process.send_signal(signal.SIGTERM),
    )
    assert (code, *the_exit(ours)) == (143, 143, f"{EVICTED}: it exited with 0")


def test_signals_of_a_terminal_are_for_the_launcher_to_decide(tmp_path):
    def signal_then_stop(ours, theirs):
        theirs.process.send_signal(signal.SIGINT)
        theirs.process.send_signal(signal.SIGHUP)
        ours.send(type="stop", grace=10, reason="enough")

    ours, code, _ = until_stopped(
        tmp_path, "trap 'exit 8' TERM; echo; while :; do sleep 0.05; done", signal_then_stop
    )
    assert (code, the_exit(ours)[0]) == (0, 8)


@pytest.mark.parametrize("how", ["SIGTERM", "stop"])
def test_a_task_stopped_before_it_started_exits_at_once(tmp_path, how):
    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                await ours.saw(TaskRegistered)
                if how == "stop":
                    ours.send(type="stop", grace=5, reason="enough")
                else:
                    theirs.process.send_signal(signal.SIGTERM)
                await ours.saw(TaskExited)
                return the_exit(ours), await theirs.exited()

    (code, reason), ended_with = asyncio.run(main())
    assert (code, ended_with) == (143, 0 if how == "stop" else 143)
    assert "was stopped before it started" in reason


def test_a_runner_that_still_looks_for_its_launcher_can_be_stopped(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with runner(tmp_path, settings(listener.getsockname(), connect_timeout=60)) as theirs:
            listener.accept()[0].close()
            theirs.process.send_signal(signal.SIGTERM)
            assert theirs.wait() == 143


def test_what_a_command_leaves_behind_is_killed(tmp_path):
    """It holds the output open, ignores SIGTERM, and another one has its own group."""
    ours, code, _ = run(
        tmp_path,
        ["bash", "-c", "set -m; (trap '' TERM; sleep 60; sleep 60) & sleep 60 & echo $!; jobs -p"],
    )
    assert code == 0
    assert all(gone(int(line)) for line in ours.lines())


def test_a_killed_runner_takes_its_command_with_it(tmp_path):
    async def main():
        async with launcher(grace=0) as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start(["bash", "-c", "set -m; sleep 60 & echo $!; echo $$; wait"])
                pids = await ours.until(lambda: len(ours.lines()) == 2 and ours.lines())
                theirs.process.kill()
                await ours.saw(RunnerLost)
                return [await asyncio.to_thread(gone, int(pid)) for pid in pids]

    assert asyncio.run(main()) == [True, True]


def test_a_fault_of_the_runner_is_told_and_leaves_no_command(tmp_path):
    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start("trap '' TERM; echo $$; sleep 60; sleep 60")
                pid = int((await ours.until(lambda: ours.lines()))[0])
                ours.send(type="stop", grace="soon")
                return pid, await theirs.exited(), theirs

    pid, code, theirs = asyncio.run(main())
    assert code == RUNNER_BROKEN
    assert gone(pid)
    assert "Traceback" in theirs.stderr


def test_nothing_of_a_runner_outlives_it(tmp_path):
    mark = "TFMESOS_TEST_MARK=" + os.urandom(8).hex()

    async def main():
        async with launcher() as ours:
            with runner(
                tmp_path, settings(ours.address), TFMESOS_TEST_MARK=mark.partition("=")[2]
            ) as theirs:
                ours.start("(sleep 60 &) ; sleep 60 & exit 0")
                await ours.saw(TaskExited)
                await theirs.exited()
                assert process.members(theirs.process.pid) == []

    asyncio.run(main())
    assert not [pid for pid in os.listdir("/proc") if pid.isdigit() and _has(pid, mark)]


def _has(pid: str, mark: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return mark.encode() in file.read().split(b"\0")
    except OSError:
        return False
