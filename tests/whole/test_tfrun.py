"""tfrun from the outside, on the embedded Mesos: real processes, real exit codes."""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.commands import (
    environment,
    lines,
    read_until,
    running_tfrun,
    standing_mesos,
    tfrun,
    without_waits,
)
from tfmesos.launcher.starts import STARTS


def test_every_task_knows_the_others_and_both_streams_come_home():
    script = "echo {job_name} {task_index} {ps_hosts} {worker_hosts}; echo err >&2"
    done = tfrun("-w", 3, "-s", 2, "--", "sh", "-c", script)
    assert done.returncode == 0
    names = ["ps:0", "ps:1", "worker:0", "worker:1", "worker:2"]
    assert lines(without_waits(done.stderr)) == [f"[{name}] err" for name in names]
    found = [re.fullmatch(r"\[(\w+):(\d)\] \1 \2 (\S+) (\S+)", x) for x in lines(done.stdout)]
    assert [f"{f[1]}:{f[2]}" for f in found] == names
    assert len({f[3] for f in found}) == len({f[4] for f in found}) == 1
    ps_hosts, worker_hosts = found[0][3].split(","), found[0][4].split(",")
    assert (len(ps_hosts), len(worker_hosts)) == (2, 3)
    assert len({*ps_hosts, *worker_hosts}) == 5
    assert all(re.fullmatch(r"127\.0\.0\.1:\d+", host) for host in (*ps_hosts, *worker_hosts))


def test_the_exit_code_and_the_report_are_those_of_the_task_that_failed():
    script = "echo so long; exit $((3*{task_index}))"
    done = tfrun("-w", 2, "--", "sh", "-c", script)
    assert done.returncode == 3
    assert "tfrun: worker:1 exited with 3 on " in done.stderr
    assert "  its last lines:\n    so long\n" in done.stderr


def test_a_killed_task_is_reported_with_its_signal():
    done = tfrun("-w", 1, "--", "sh", "-c", "kill -9 $$")
    assert done.returncode == 137
    assert "worker:0 was killed by SIGKILL" in done.stderr


def test_the_ps_need_not_end_for_the_run_to_end():
    script = "if [ {job_name} = ps ]; then exec sleep 600; else echo done; fi"
    done = tfrun("-w", 2, "-s", 1, "--", "sh", "-c", script)
    assert (done.returncode, done.stdout.count("done")) == (0, 2)


def test_no_ps_at_all_is_fine():
    done = tfrun("-w", 1, "-s", 0, "--", "sh", "-c", "echo [{ps_hosts}]")
    assert (done.returncode, done.stdout) == (0, "[worker:0] []\n")


def test_the_environment_of_a_task_says_who_it_is_and_who_the_others_are():
    names = "TFMESOS_DISTRIBUTED TFMESOS_JOB_NAME TFMESOS_TASK_INDEX TF_CONFIG PYTHONUNBUFFERED"
    code = f"import json, os; print(json.dumps([os.environ[n] for n in {names.split()!r}]))"
    done = tfrun("-w", 1, "--chief", "--evaluator", "--", sys.executable, "-c", code)
    assert done.returncode == 0
    (shown,) = [x for x in done.stdout.splitlines() if x.startswith("[chief:0]")]
    distributed, job, index, config, unbuffered = json.loads(shown.partition(" ")[2])
    assert (distributed, job, index, unbuffered) == ("1", "chief", "0", "1")
    assert json.loads(config)["task"] == {"type": "chief", "index": 0}
    assert {job: len(hosts) for job, hosts in json.loads(config)["cluster"].items()} == {
        "chief": 1,
        "worker": 1,
    }


def test_a_single_task_is_no_cluster_to_tensorflow():
    done = tfrun("-w", 1, "--", "sh", "-c", 'echo "[$TF_CONFIG]"')
    assert done.stdout == "[worker:0] []\n"


def test_env_sets_a_variable_and_the_runs_secret_stays_out_of_sight():
    done = tfrun("-w", 1, "--env", "GREETING=hello you", "--", "env")
    assert "[worker:0] GREETING=hello you\n" in done.stdout
    assert not [x for x in done.stdout.splitlines() if re.search("SECRET|_RUNNER", x)]


def test_arguments_keep_their_quoting_and_other_braces_stay():
    code = "import sys; print(sys.argv[1:])"
    arguments = ["a b", '{"x": {}}', "$HOME", "{task_index}", ""]
    done = tfrun("-w", 1, "--", sys.executable, "-c", code, *arguments)
    assert (
        done.stdout
        == f"[worker:0] {['a b', chr(123) + chr(34) + 'x' + chr(34) + ': {}}', '$HOME', '0', '']}\n"
    )


def test_a_single_argument_goes_to_a_shell():
    done = tfrun("-w", 1, "--", "echo {job_name} | tr a-z A-Z")
    assert done.stdout == "[worker:0] WORKER\n"


def test_a_command_that_does_not_exist_is_named():
    done = tfrun("-w", 1, "--", "no-such-command", "x")
    assert done.returncode == 127
    assert "no such command: no-such-command" in done.stderr


def test_tasks_run_where_tfrun_was_started(tmp_path):
    done = tfrun("-w", 1, "--", "pwd", cwd=tmp_path)
    assert done.stdout == f"[worker:0] {tmp_path}\n"


def test_initializer_and_finalizer_frame_the_command(tmp_path):
    config = tmp_path / "extra.json"
    config.write_text(json.dumps({"initializer": "echo first", "finalizer": "echo last; exit 9"}))
    done = tfrun("-w", 1, "-e", config, "--", "sh", "-c", "echo middle; exit 4")
    shown = [x.partition(" ")[2] for x in done.stdout.splitlines()]
    assert shown == ["first", "middle", "last"]
    assert done.returncode == 4
    assert "finalizer" in done.stderr


def test_a_failing_initializer_fails_the_task_and_the_command_is_not_run(tmp_path):
    config = tmp_path / "extra.json"
    config.write_text(json.dumps({"initializer": "exit 5"}))
    done = tfrun("-w", 1, "-e", config, "--", "echo", "never")
    assert done.returncode == 5
    assert "initializer exited with 5" in done.stderr and "never" not in done.stdout


@pytest.mark.parametrize(
    "flags, shown",
    [
        (["--logs", "none"], []),
        (["--logs", "worker:1,ps:*"], ["ps:0", "worker:1"]),
        (["--worker-logs", "0"], ["worker:0"]),
        (["--worker-logs", "*"], ["worker:0", "worker:1"]),
    ],
)
def test_only_the_chosen_output_is_shown(flags, shown):
    done = tfrun("-w", 2, "-s", 1, *flags, "--", "echo", "x")
    assert lines(done.stdout) == [f"[{name}] x" for name in shown]


@pytest.mark.parametrize("where", [[], ["--local-chief"]])
def test_a_single_task_has_a_tf_config_if_it_is_asked_for(where):
    show = ("sh", "-c", "echo config ${TF_CONFIG:-none}")
    assert "config none" in tfrun("-w", 1, *where, "--", *show).stdout
    done = tfrun("-w", 1, *where, "--tf-config", "always", "--", *show)
    config = json.loads(re.search(r"config (.*)", done.stdout)[1])
    assert config["task"] == {"type": "worker", "index": 0}
    assert list(config["cluster"]) == ["worker"] and len(config["cluster"]["worker"]) == 1


def the_python_of(done):
    assert done.returncode == 0, done.stderr
    return re.search(r"found (\S+)", done.stdout)[1]


FIND_PYTHON = ("--", "sh", "-c", "echo found $(command -v python3)")


def test_python_is_the_one_that_runs_tfrun_although_its_environment_is_not_activated():
    done = tfrun("-w", 1, *FIND_PYTHON, env={"PATH": "/usr/bin:/bin"})
    assert os.path.dirname(the_python_of(done)) == os.path.dirname(sys.executable)


def test_python_is_the_one_that_runs_tfrun_if_there_is_no_path_at_all():
    env = {k: v for k, v in environment().items() if k != "PATH"}
    command = [Path(sys.executable).with_name("tfrun"), "-w", "1", *FIND_PYTHON]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG)
    assert os.path.dirname(the_python_of(done)) == os.path.dirname(sys.executable)


def test_python_is_the_one_that_was_named(tmp_path):
    python = tmp_path / "python3"
    python.symlink_to(sys.executable)
    done = tfrun("-w", 1, "--python", python, *FIND_PYTHON)
    assert the_python_of(done) == str(python)


def test_a_tfrun_that_was_installed_as_a_tool_leaves_the_path_alone(tmp_path):
    tool = tmp_path / "tfrun"
    tool.write_text(f"#!{sys.executable}\nfrom tfmesos.tfrun import script\nscript()\n")
    tool.chmod(0o755)
    env = environment(PATH="/usr/bin:/bin")
    command = [tool, "-w", "1", "--", "sh", "-c", "echo found $PATH"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG)
    assert the_python_of(done) == "/usr/bin:/bin"


def test_the_last_lines_of_a_failure_are_shown_even_without_logs():
    done = tfrun("-w", 1, "--logs", "none", "--", "sh", "-c", "echo oh no >&2; exit 1")
    assert done.stdout == "" and "    oh no\n" in done.stderr


def test_an_unreachable_master_is_named_with_what_was_tried():
    done = tfrun("-w", 1, "-m", "127.0.0.1:1", "--start-timeout", 2, "--", "true")
    assert done.returncode == 69
    assert "no Mesos master after" in done.stderr and "127.0.0.1:1" in done.stderr


def test_two_runs_share_one_mesos_that_stands_alone(tmp_path):
    go = tmp_path / "go"
    script = f"echo {{worker_hosts}}; until [ -e {go} ]; do sleep 0.05; done"
    flags = ("--agents", "2", "--resources", "cpus:8;mem:16384;ports:[31000-31999]")
    with standing_mesos(*flags) as url:
        command = ("-m", url, "-w", 2, "--", "sh", "-c", script)
        with running_tfrun(*command) as first, running_tfrun(*command) as second:
            shown = [read_until(r.stdout, "[worker:0]", "[worker:1]") for r in (first, second)]
            go.touch()
            assert [run.wait() for run in (first, second)] == [0, 0]
    ports = {int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", str(shown))}
    assert len(ports) == 4 and ports <= set(range(31000, 32000))


def test_a_task_that_ends_in_silence_has_no_last_lines():
    done = tfrun("-w", 2, "--", "sh", "-c", "[ {task_index} = 0 ] && exec sleep 600; exit 42")
    assert done.returncode == 42
    said = without_waits(done.stderr)
    assert re.fullmatch(r"tfrun: worker:1 exited with 42 on \S+\n", said), done.stderr


def test_all_of_many_tasks_begin_though_not_at_the_same_moment():
    done = tfrun("-w", STARTS + 8, "--", "echo {task_index}")
    assert done.returncode == 0, done.stderr
    said = [line.partition("] ")[2] for line in done.stdout.splitlines()]
    assert sorted(map(int, said)) == list(range(STARTS + 8))


def test_a_task_that_dies_before_its_runner_can_speak_shows_its_sandbox():
    done = tfrun("-w", 1, "--python", "/no/such/python", "--", "true")
    assert done.returncode == 127
    assert "tfrun: worker:0 exited with 127 on " in done.stderr
    assert re.search(r"  its last lines:\n    .*/no/such/python: not found\n", done.stderr)


def test_bytes_that_are_no_text_arrive_as_they_are():
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", "-w", "1", "--", "printf", "%s", b"\xff"],
        capture_output=True,
        env=environment(),
    )
    assert done.returncode == 0 and done.stdout.startswith(b"[worker:0] ")


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("0.0.0.0", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        done = tfrun("-w", 1, "--advertise", address, "--", "true")
    assert done.returncode == 2
    assert f"tfrun: --advertise {address}: cannot listen there" in done.stderr


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost"])
def test_tasks_find_the_launcher_where_it_says_it_is(host):
    done = tfrun("-w", 1, "--advertise", host, "--", "echo", "found")
    assert (done.returncode, done.stdout) == (0, "[worker:0] found\n")


@pytest.mark.parametrize(
    "flag, code, problem",
    [
        ("", 2, "the current directory no longer exists"),
        ("--ship", 66, "--ship cannot be read: the current directory no longer exists"),
        ("--entry a:b --log-dir x", 2, "the current directory no longer exists"),
    ],
)
def test_a_directory_that_is_gone_is_named(tmp_path, flag, code, problem):
    gone = tmp_path / "gone"
    gone.mkdir()
    command = "" if "--entry" in flag else "-- true"
    done = subprocess.run(
        ["sh", "-c", f"rmdir {gone}; exec {sys.executable} -m tfmesos -w 1 {flag} {command}"],
        cwd=gone,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(Path(__file__).parents[2])),
    )
    assert done.returncode == code
    assert done.stderr.startswith(f"tfrun: {problem}") and done.stderr.count("\n") == 1


def test_of_several_masters_the_first_need_not_exist():
    with standing_mesos() as url:
        done = tfrun("-m", f"no-such-host.invalid,{url}", "-w", 1, "--", "echo", "found")
    assert (done.returncode, done.stdout) == (0, "[worker:0] found\n")


IN_A_PROGRAM = """
from tfmesos.tfrun import main
assert main(["-w", "1", "--", "echo", "up"]) == 0
import asyncio, ssl
from asyncio import sslproto
assert sslproto.ssl is ssl and ssl.create_default_context()
"""


def test_a_program_that_calls_tfrun_still_has_tls_afterwards():
    command = [sys.executable, "-c", IN_A_PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert (done.returncode, done.stdout) == (0, "[worker:0] up\n")
    assert without_waits(done.stderr) == ""
