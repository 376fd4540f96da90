"""A real runner process against a real rendezvous."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.bounds import HANG
from tests.ports import free_port
from tests.runners import CLUSTER, SECRET, TASK, Proxy, gone, launcher, runner, settings
from tfmesos.core.events import (
    RunnerBack,
    RunnerLost,
    RunnerOutOfTouch,
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.errors import (
    BAD_SETTINGS,
    CANNOT_REACH_LAUNCHER,
    EVICTED,
    HANDSHAKE_FAILED,
    LAUNCHER_LOST,
    PORT_TAKEN,
    RUNNER_BROKEN,
)
from tfmesos.node import process, scratch, undelivered
from tfmesos.node.address import join_address

PYTHON = [sys.executable, "-u", "-c"]


def run(sandbox, command, *, values=None, **start):
    """Run one command from start to end: the launcher, the runner's exit code and the runner."""

    async def main():
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, **values or {})) as theirs:
                ours.start(command, **start)
                await ours.saw(TaskExited)
                return ours, await theirs.exited(), theirs

    return asyncio.run(main())


def the_exit(ours):
    (event,) = [event for event in ours.events if isinstance(event, TaskExited)]
    return event.code, event.reason


def test_a_task_registers_gets_ready_and_exits(tmp_path):
    ours, code, _ = run(tmp_path, ["true"])
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskReady, TaskExited]
    assert ours.events[0].address.startswith("127.0.0.1:")
    assert ours.events[0].port > 0
    assert (code, *the_exit(ours)) == (0, 0, "exited with 0")


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="no IPv6 here")
def test_a_task_registers_over_ipv6(tmp_path):
    async def main():
        async with launcher("::1") as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start(["true"])
                await ours.saw(TaskExited)
                return ours.events[0], await theirs.exited()

    registered, code = asyncio.run(main())
    assert (registered.address.rpartition(":")[0], code) == ("[::1]", 0)


def test_the_offered_port_is_taken_and_kept_for_the_command(tmp_path):
    port = free_port()
    serve = (
        "import socket; s = socket.create_server(('', {port})); print('listening')\n"
        "try: socket.socket().bind(('', {port}))\n"
        "except OSError as error: print(error.strerror)"
    )
    ours, code, _ = run(
        tmp_path, [*PYTHON, serve.replace("{port}", str(port))], values={"port": port}
    )
    assert ours.events[0].port == port
    assert ours.lines() == ["listening", "Address already in use"]
    assert code == 0


def test_a_port_another_program_uses_is_a_failure_in_plain_words(tmp_path):
    with socket.create_server(("", 0)) as other:
        port = other.getsockname()[1]
        ours, code, _ = run(tmp_path, ["true"], values={"port": port})
    assert code == PORT_TAKEN
    assert the_exit(ours) == (code, f"could not have port {port}: Address already in use")


def test_a_command_knows_its_place_in_the_cluster(tmp_path):
    show = "import json, os; print(json.dumps(dict(os.environ)))"
    ours, _, _ = run(tmp_path, [*PYTHON, show], env={"HOME": "/h", "GONE": None})
    env = json.loads(ours.lines()[0])
    assert env["HOME"] == "/h"
    assert env["TFMESOS_PS_HOSTS"] == "10.0.0.3:3"
    assert env["TFMESOS_WORKER_HOSTS"] == "10.0.0.1:1,10.0.0.2:2"
    assert (env["TFMESOS_JOB_NAME"], env["TFMESOS_TASK_INDEX"]) == ("worker", "0")
    assert json.loads(env["TF_CONFIG"])["cluster"] == CLUSTER


def test_the_variables_of_the_runner_are_not_for_the_command(tmp_path):
    ours, _, _ = run(
        tmp_path, "env", user_env={"PYTHONUNBUFFERED": None, "MINE": "1", "PATH": "/bin"}
    )
    names = {line.partition("=")[0] for line in ours.lines()}
    assert not names & {"TFMESOS_SECRET", "TFMESOS_RUNNER", "PYTHONUNBUFFERED"}
    assert "MINE=1" in ours.lines() and "PATH=/bin" in ours.lines()


def test_the_secret_cannot_be_read_off_the_runner_while_its_command_runs(tmp_path):
    """Whoever has the same user id may read /proc/PID/environ, for one the command itself."""
    ours, _, _ = run(tmp_path, "tr '\\0' '\\n' < /proc/$PPID/environ")
    names = [line.partition("=")[0] for line in ours.lines()]
    assert "PATH" in names, "nothing could be read at all"
    assert SECRET.hex() not in "".join(ours.lines())


def test_a_list_keeps_its_quoting_and_a_string_goes_to_the_shell(tmp_path):
    (tmp_path / "list").mkdir()
    (tmp_path / "text").mkdir()
    argv = ["printf", "%s\\n", "{job_name}", "a  b", "$HOME {x}", ""]
    assert run(tmp_path / "list", argv)[0].lines() == ["worker", "a  b", "$HOME {x}", ""]
    assert run(tmp_path / "text", "echo {task_index}; echo {b}|cat")[0].lines() == ["0", "{b}"]


def test_both_streams_reach_the_launcher_and_the_sandbox(tmp_path):
    ours, _, theirs = run(tmp_path, "echo out; echo err >&2; printf 'caf\\303\\251 \\377'")
    assert ours.lines("stdout") == ["out", "café \\xff"]
    assert ours.lines("stderr") == ["err"]
    assert theirs.stdout == b"out\ncaf\xc3\xa9 \xff"
    assert theirs.stderr == "err\n"


def test_without_forwarding_only_the_tail_comes_back(tmp_path):
    ours, _, theirs = run(tmp_path, "seq 100; exit 1", forward=False)
    assert ours.output == []
    assert ours.events[-1].tail == tuple(str(number) for number in range(81, 101))
    assert theirs.stdout.endswith(b"100\n")


@pytest.mark.parametrize(
    "command, code, reason",
    [
        ("exit 3", 3, "exited with 3"),
        ("kill -9 $$", 137, "was killed by SIGKILL (signal 9)"),
        (["kill-nobody", "x"], 127, "could not be started: no such command: kill-nobody"),
        (["/etc/passwd"], 126, "could not be started: not executable: /etc/passwd"),
        (["a\0b"], 126, "could not be started: a\0b: embedded null byte"),
        (["\udcff"], 127, "could not be started: no such command: \\udcff"),
    ],
    ids=["exit", "signal", "missing", "forbidden", "impossible", "not text"],
)
def test_the_end_of_a_command_is_told_in_numbers_and_in_words(tmp_path, command, code, reason):
    ours, exit_code, _ = run(tmp_path, command)
    assert (exit_code, *the_exit(ours)) == (code, code, reason)


def test_a_directory_that_is_not_there_is_replaced_by_the_sandbox(tmp_path):
    ours, _, _ = run(tmp_path, "pwd", cwd="/no/such/place")
    assert ours.lines() == [str(tmp_path)]
    (note,) = ours.lines("stderr")
    assert note == f"tfmesos: no directory /no/such/place on this node; running in {tmp_path}"


def test_in_an_image_the_launchers_directory_is_not_missed(tmp_path):
    ours, _, _ = run(tmp_path, "pwd", cwd="/no/such/place", in_image=True)
    assert ours.lines() == [str(tmp_path)] and ours.lines("stderr") == []


def test_a_directory_that_was_asked_for_must_be_there(tmp_path):
    ours, code, _ = run(tmp_path, "pwd", cwd="/no/such/place", cwd_is_given=True)
    assert code == 1 and ours.lines() == []
    reason = "could not be started: no directory /no/such/place (its cwd) on its node"
    assert the_exit(ours) == (1, reason)


def test_the_command_runs_in_the_directory_it_is_told(tmp_path):
    (tmp_path / "there").mkdir()
    ours, _, _ = run(tmp_path, "pwd", cwd=str(tmp_path / "there"))
    assert ours.lines() == [str(tmp_path / "there")]
    assert ours.lines("stderr") == []


def test_initializer_command_and_finalizer_run_in_that_order(tmp_path):
    ours, code, _ = run(
        tmp_path, "echo command; exit 4", initializer="echo first {job_name}", finalizer="echo last"
    )
    assert ours.lines() == ["first worker", "command", "last"]
    assert ours.events[-1].tail == ("first worker", "command")
    assert code == 4


def test_a_failing_initializer_fails_the_task_and_the_finalizer_still_runs(tmp_path):
    ours, code, _ = run(tmp_path, "echo no", initializer="exit 5", finalizer="echo last")
    assert ours.lines() == ["last"]
    assert (code, *the_exit(ours)) == (5, 5, "its initializer exited with 5")
    assert TaskReady(TASK) not in ours.events


def test_a_failing_finalizer_does_not_hide_the_command(tmp_path):
    ours, code, _ = run(tmp_path, "exit 0", finalizer="exit 6")
    assert ours.lines("stderr") == ["tfmesos: the finalizer exited with 6"]
    assert code == 0


def test_a_flood_of_output_arrives_whole(tmp_path):
    ours, _, theirs = run(tmp_path, "seq 200000 | head -c 1000000; printf x")
    expected = "\n".join(map(str, range(1, 200001)))[:1000000] + "x"
    assert ours.dropped == 0
    assert "\n".join(ours.lines()) == expected
    assert theirs.stdout.decode() == expected


def test_what_a_command_leaves_behind_is_killed(tmp_path):
    """It holds the output open, ignores SIGTERM, and another one has its own group."""
    ours, code, _ = run(
        tmp_path,
        ["bash", "-c", "set -m; (trap '' TERM; sleep 60; sleep 60) & sleep 60 & echo $!; jobs -p"],
    )
    assert code == 0
    assert all(gone(int(line)) for line in ours.lines())


def test_a_copy_of_the_output_goes_to_the_address_that_wants_it(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        run(tmp_path, "echo out; echo err >&2; printf end", copy_to=f"{host}:{port}")
        listener.settimeout(HANG)
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as file:
            assert file.read() == b"[worker:0] out\n[worker:0] end\n"


def test_a_copy_that_nobody_reads_stalls_nothing(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        host, port = listener.getsockname()
        _, code, _ = run(
            tmp_path, "head -c 20000000 /dev/zero; echo", copy_to=f"{host}:{port}", forward=False
        )
    assert code == 0


def test_a_copy_to_nowhere_harms_nothing(tmp_path):
    for place in ("127.0.0.1:1", "nonsense"):
        ours, code, _ = run(tmp_path, "echo; echo x", copy_to=place)
        assert (code, ours.lines()) == (0, ["", "x"])


# Stopping


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
    assert code == 7
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
        ["bash", "-c", "trap '' TERM; echo $$; sleep 60; sleep 60"],
        lambda ours, _: ours.send(type="stop", grace=0.3, reason="enough"),
    )
    assert code == 137
    assert 0.3 <= took < 5
    assert gone(int(ours.lines()[0]))


def test_a_second_stop_kills_at_once(tmp_path):
    def stop_twice(ours, _):
        ours.send(type="stop", grace=60, reason="enough")
        ours.send(type="stop", grace=0, reason="really")

    _, code, took = until_stopped(tmp_path, "trap '' TERM; echo; sleep 60; sleep 60", stop_twice)
    assert code == 137
    assert took < 10


def test_the_finalizer_of_a_stopped_task_has_the_grace_time_and_no_more(tmp_path):
    ours, code, took = until_stopped(
        tmp_path,
        "echo; exec sleep 60",
        lambda ours, _: ours.send(type="stop", grace=0.3, reason="enough"),
        finalizer="echo last; exec sleep 60",
    )
    assert (code, *the_exit(ours)) == (143, 143, "was killed by SIGTERM (signal 15)")
    assert ours.lines() == ["", "last"]
    assert took < 5


def test_a_stop_in_the_initializer_keeps_the_command_from_running(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "echo no",
        lambda ours, _: ours.send(type="stop", grace=5, reason="enough"),
        initializer="trap 'exit 0' TERM; echo first; while :; do sleep 0.05; done",
    )
    assert ours.lines() == ["first"]
    assert (code, *the_exit(ours)) == (143, 143, "was stopped before its command")


def test_sigterm_stops_the_command_and_is_reported(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "trap '' TERM; echo; sleep 60; sleep 60",
        lambda _, theirs: theirs.process.send_signal(signal.SIGTERM),
    )
    reason = "was ended by its agent: it was killed by SIGKILL (signal 9)"
    assert (code, *the_exit(ours)) == (137, 137, reason)


def test_a_command_that_ends_well_when_the_agent_ends_it_has_failed_all_the_same(tmp_path):
    ours, code, _ = until_stopped(
        tmp_path,
        "trap 'exit 0' TERM; echo; while :; do sleep 0.05; done",
        lambda _, theirs: theirs.process.send_signal(signal.SIGTERM),
    )
    assert (code, *the_exit(ours)) == (143, 143, "was ended by its agent: it exited with 0")


def test_signals_of_a_terminal_are_for_the_launcher_to_decide(tmp_path):
    def signal_then_stop(ours, theirs):
        theirs.process.send_signal(signal.SIGINT)
        theirs.process.send_signal(signal.SIGHUP)
        ours.send(type="stop", grace=10, reason="enough")

    _, code, _ = until_stopped(
        tmp_path, "trap 'exit 8' TERM; echo; while :; do sleep 0.05; done", signal_then_stop
    )
    assert code == 8


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
    assert (code, ended_with) == (143, 143) and "was stopped before it started" in reason


def test_a_runner_that_still_looks_for_its_launcher_can_be_stopped(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with runner(tmp_path, settings(listener.getsockname(), connect_timeout=60)) as theirs:
            listener.accept()[0].close()
            theirs.process.send_signal(signal.SIGTERM)
            assert theirs.wait() == 143


# The launcher is not there, or not ours


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
        async with launcher() as ours:
            await ours.rendezvous.listen(*address)
            ours.start(["true"])
            await ours.saw(TaskExited)
            return await theirs.exited()

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
    assert "do not agree on the secret" in theirs.stderr and theirs.stderr.count("\n") == 1
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
    held = scratch.hold(str(directory))

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
                await asyncio.sleep(1.0)  # five times its patience with others
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
    assert theirs.stderr.endswith("is lost: the launcher fell silent\n")


def test_a_launcher_on_the_same_machine_may_be_silent_however_long(tmp_path):
    """It has been stopped; had it ended, its connection would have."""

    async def main():
        async with launcher(heartbeat=60) as ours:
            values = settings(ours.address, heartbeat=0.1, silence=0.2, grace=0, patient=True)
            with runner(tmp_path, values) as theirs:
                ours.start("sleep 2; echo still here")
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.lines()) == (0, ["still here"])
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskReady, TaskExited]


def test_a_command_waits_for_a_launcher_on_the_same_machine_and_loses_nothing(tmp_path):
    numbers = "for n in range(400000): print('%050d' % n)\nopen('done', 'w')"

    async def main():
        async with launcher() as ours:
            ours.open.clear()
            with runner(tmp_path, settings(ours.address, patient=True)) as theirs:
                ours.start([sys.executable, "-c", numbers])
                await ours.saw(TaskReady)
                await asyncio.sleep(2.0)  # four times the patience with another launcher
                assert not (tmp_path / "done").exists()
                ours.open.set()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.dropped) == (0, 0)
    assert [int(line) for line in ours.lines()] == list(range(400_000))


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
    (report,), is_all = undelivered.unpack(text, received)
    assert (code, report["code"], is_all) == (LAUNCHER_LOST, LAUNCHER_LOST, True)


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


# The connection breaks, the launcher is slow


@pytest.mark.parametrize("cut_after", [3_000, 20_000, 150_000])
def test_a_cut_connection_loses_no_line_and_doubles_none(tmp_path, cut_after):
    numbers = "import time\nfor n in range(30000):\n    print(n)\n    n % 1000 or time.sleep(0.005)"

    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                proxy.cut_after = cut_after
                ours.start([sys.executable, "-c", numbers])
                await ours.until(lambda: proxy.cut_after is None and ours.lines())
                proxy.cut()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert code == 0
    assert ours.dropped == 0
    assert ours.lines() == [str(number) for number in range(30000)]
    touch = (RunnerOutOfTouch, RunnerBack)
    kinds = [type(event) for event in ours.events if not isinstance(event, touch)]
    assert kinds == [TaskRegistered, TaskReady, TaskExited]


def test_an_exit_during_a_broken_connection_is_reported_after_it(tmp_path):
    os.mkfifo(tmp_path / "gate")
    os.mkfifo(tmp_path / "end")

    async def main():
        async with launcher() as ours, Proxy(ours.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address)) as theirs:
                ours.start("echo; exec 3> end; read line < gate; echo done; exit 9")
                await ours.until(lambda: ours.lines())
                proxy.cut(for_good=True)
                await asyncio.to_thread(let_it_end, tmp_path)
                proxy.mend()
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, *the_exit(ours)) == (9, 9, "exited with 9")
    assert ours.lines() == ["", "done"]


def let_it_end(sandbox):
    with open(sandbox / "end") as end:
        (sandbox / "gate").write_text("go\n")
        end.read()


def test_a_slow_launcher_does_not_stall_the_command_and_every_line_is_accounted_for(tmp_path):
    numbers = "for n in range(400000): print('%050d' % n)\nopen('done', 'w')"
    os.mkfifo(tmp_path / "done")

    async def main():
        async with launcher() as ours:
            ours.open.clear()
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", numbers])
                await asyncio.to_thread((tmp_path / "done").read_text)
                ours.open.set()
                await ours.saw(TaskExited)
                return ours, await theirs.exited(), theirs

    ours, code, theirs = asyncio.run(main())
    numbers_seen = [int(line) for line in ours.lines()]
    assert code == 0
    assert ours.dropped > 0
    assert numbers_seen == sorted(set(numbers_seen))
    assert len(numbers_seen) + ours.dropped == 400_000
    assert theirs.stdout.count(b"\n") == 400_000
    assert ours.events[-1].tail[-1] == f"{399_999:050d}"


def test_a_command_faster_than_its_launcher_waits_and_loses_nothing(tmp_path):
    """40 MB at once, five times what the runner holds."""
    fast = "import os\nfor n in range(640): os.write(1, b'%065535d\\n' % n)"

    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address)) as theirs:
                ours.start([sys.executable, "-c", fast])
                await ours.saw(TaskExited)
                return ours, await theirs.exited()

    ours, code = asyncio.run(main())
    assert (code, ours.dropped) == (0, 0)
    assert [int(line[-4:]) for line in ours.lines()] == list(range(640))
