"""tfrun on a Mesos master, from the outside: the same promises on each kind of master."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections import Counter

import psutil
import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.runners import gone

WAIT_FOR = "until [ -e {0} ]; do sleep 0.05; done"


def tagged(text, tag):
    """What was printed after *tag*, per task."""
    return dict(re.findall(rf"(?m)^\[(\S+)\] {tag} ?(.*)$", text))


def test_the_tasks_know_each_other_and_are_spread_by_their_size(three_nodes):
    script = "echo at $MESOS_SLAVE_ID; echo hosts {ps_hosts} {worker_hosts}"
    sizes = ("-w", 4, "-Mw", 512, "-s", 2, "-Ms", 512)
    done = tfrun("-m", three_nodes, *sizes, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    where = tagged(done.stdout, "at")
    assert sorted(where) == ["ps:0", "ps:1", *(f"worker:{i}" for i in range(4))]
    assert sorted(Counter(where.values()).values()) == [1, 2, 3]
    (hosts,) = set(tagged(done.stdout, "hosts").values())
    assert len(set(re.findall(r"127\.0\.0\.1:\d+", hosts))) == 6


def test_the_ports_of_the_offer_are_the_addresses_of_the_tasks(three_nodes):
    done = tfrun("-m", three_nodes, "-w", 3, "-Mw", 512, "--", "echo hosts {worker_hosts}")
    (hosts,) = set(tagged(done.stdout, "hosts").values())
    ports = [int(port) for port in re.findall(r":(\d+)", hosts)]
    assert len(set(ports)) == 3 and all(10000 <= port < 20000 for port in ports)


def test_the_master_may_be_named_by_the_environment(master):
    done = tfrun("-w", 1, "--", "echo framework $MESOS_FRAMEWORK_ID", env={"MESOS_MASTER": master})
    assert done.returncode == 0
    assert re.fullmatch(r"\S+-\d{4}", tagged(done.stdout, "framework")["worker:0"])


def test_a_task_runs_where_tfrun_was_started_with_its_path_and_python(master, tmp_path):
    code = "import os, sys; print('found', os.getcwd(), sys.prefix)"
    done = tfrun("-m", master, "-w", 1, "--", sys.executable, "-c", code, cwd=tmp_path)
    assert tagged(done.stdout, "found") == {"worker:0": f"{tmp_path} {sys.prefix}"}


@pytest.mark.parametrize(
    "script, code, reason",
    [
        ("exit $((3 * {task_index}))", 3, "worker:1 exited with 3 on "),
        ("[ {task_index} = 0 ] || kill -9 $$", 137, "worker:1 was killed by SIGKILL "),
    ],
)
def test_the_exit_code_is_that_of_the_task_that_failed(master, script, code, reason):
    done = tfrun("-m", master, "-w", 2, "-Mw", 512, "--", "sh", "-c", f"echo so long; {script}")
    assert done.returncode == code
    assert f"tfrun: {reason}" in done.stderr and "    so long\n" in done.stderr


def test_a_node_without_the_interpreter_is_reported_after_three_attempts(master):
    done = tfrun("-m", master, "-w", 1, "--python", "/no/such/python", "--", "true")
    assert done.returncode == 127
    assert "restart 3 of 3" in done.stderr and "exited with 127" in done.stderr
    assert re.search(r"(?m)^    .*/no/such/python: not found$", done.stderr)  # from the sandbox
    assert re.search(r"(?m)^  its sandbox: http://\S+/runs/latest$", done.stderr)


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_no_task(master, number, code):
    """That nothing is left is what the fixtures see to."""
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    command = ("-m", master, "-w", 2, "-Mw", 512, "-s", 1, "-Ms", 512)
    with running_tfrun(*command, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up", "[ps:0] up")
        run.send_signal(number)
        out, _ = finish(run)
    assert run.returncode == code
    assert sorted(tagged(out, "cleaning")) == ["ps:0", "worker:0", "worker:1"]


def test_a_command_ends_with_its_runner_although_the_guard_is_killed_too(master):
    """The executor reports the end of the runner, and takes no kill for the task any more."""
    command = ("-m", master, "-w", 1, "-Mw", 512, "--", "echo up $PPID $$; exec sleep 600")
    with running_tfrun(*command) as run:
        (*_, line) = read_until(run.stdout, "[worker:0] up")
        runner, own = (int(word) for word in line.split()[-2:])
        (guard,) = (p.pid for p in psutil.Process(runner).children() if p.pid != own)
        os.kill(guard, signal.SIGKILL)
        os.kill(runner, signal.SIGKILL)
        assert gone(own)
        _, err = finish(run)
    assert run.returncode == 137, err


def test_two_runs_share_a_master(master, tmp_path):
    go = tmp_path / "go"
    script = f"echo hosts {{worker_hosts}}; {WAIT_FOR.format(go)}"
    command = ("-m", master, "-w", 2, "-Mw", 512, "--", "sh", "-c", script)
    with running_tfrun(*command) as first, running_tfrun(*command) as second:
        shown = [read_until(run.stdout, "[worker:0]", "[worker:1]") for run in (first, second)]
        go.touch()
        assert [run.wait() for run in (first, second)] == [0, 0]
    assert len(set(re.findall(r"127\.0\.0\.1:\d+", str(shown)))) == 4


def test_runs_that_do_not_fit_together_come_one_after_the_other(three_nodes):
    command = ("-m", three_nodes, "-w", 3, "-Cw", 1, "-Mw", 1024, "-s", 1, "-Cs", 2)
    with running_tfrun(*command, "--", "true") as first:
        with running_tfrun(*command, "--", "true") as second:
            ends = [finish(run) for run in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], ends
