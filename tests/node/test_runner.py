"""A real runner process and its command, from the registration to the report of the end."""

from __future__ import annotations

import asyncio
import json
import os
import socket

import pytest

from tests.ports import free_port
from tests.runners import (
    CLUSTER,
    PYTHON,
    SECRET,
    TASK,
    launcher,
    run,
    runner,
    settings,
    the_exit,
)
from tests.sentences import names
from tfmesos.core.events import (
    TaskExited,
    TaskReady,
    TaskRegistered,
)
from tfmesos.errors import (
    PORT_TAKEN,
)


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
    _, reason = the_exit(ours)
    assert f"port {port}: Address already in use by pid {os.getpid()} (" in reason


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
    assert names(note, "tfmesos: no directory /no/such/place", f"in {tmp_path}")


def test_in_an_image_the_launchers_directory_is_not_missed(tmp_path):
    ours, _, _ = run(tmp_path, "pwd", cwd="/no/such/place", in_image=True)
    assert ours.lines() == [str(tmp_path)] and ours.lines("stderr") == []


def test_a_directory_that_was_asked_for_must_be_there(tmp_path):
    ours, code, _ = run(tmp_path, "pwd", cwd="/no/such/place", cwd_is_given=True)
    assert code == 1 and ours.lines() == []
    reason = "could not be started: its working directory /no/such/place does not exist"
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
    assert (code, *the_exit(ours)) == (5, 5, "failed: its initializer exited with 5")
    assert TaskReady(TASK) not in ours.events


def test_a_failing_finalizer_does_not_hide_the_command(tmp_path):
    ours, code, _ = run(tmp_path, "exit 0", finalizer="exit 6")
    assert ours.lines("stderr") == ["tfmesos: the finalizer exited with 6"]
    assert code == 0
