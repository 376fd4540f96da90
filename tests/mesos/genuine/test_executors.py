"""An executor that dies while the runner it started lives on: with the posix launcher of Mesos
nothing ends the runner but its launcher."""

from __future__ import annotations

import re

import psutil
import pytest

from tests.commands import finish, read_until, running_tfrun
from tests.runners import gone

CHATTY = "echo up $$; while :; do date +%T; sleep 0.2; done"
SILENT = "echo up $$; exec sleep 600"


@pytest.fixture
def node(mesos):
    mesos.start("node-1")
    return mesos


def executor_of(mesos, pid):
    """The executor above a process."""
    parents = {it.pid for it in psutil.Process(pid).parents()}
    return next(it for it in mesos.executors() if it.pid in parents)


def kill_executor(mesos, lines, task):
    """Kill that of *task*, which has said its pid; return the pid."""
    own = next(int(line.split()[-1]) for line in lines if line.startswith(f"[{task}] up "))
    executor_of(mesos, own).kill()
    return own


@pytest.mark.parametrize("script", [CHATTY, SILENT])
def test_a_run_ends_when_an_executor_dies_and_so_does_its_task(node, script):
    command = ("-m", node.master.address, "-w", 2, "--", "sh", "-c", script)
    with running_tfrun(*command) as run:
        lines = read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        own = kill_executor(node, lines, "worker:0")
        _, err = finish(run)
        assert gone(own, 0)  # the command did not outlive the run
    assert run.returncode == 1, err
    assert re.search(r"tfrun: worker:0 .*REASON_EXECUTOR_TERMINATED", err), err
    assert "could not report" not in err


def test_what_the_command_wrote_last_is_reported(node):
    command = ("-m", node.master.address, "-w", 1, "--", "sh", "-c", f"echo before; {SILENT}")
    with running_tfrun(*command) as run:
        kill_executor(node, read_until(run.stdout, "[worker:0] up"), "worker:0")
        _, err = finish(run)
    assert re.search(r"its last lines:\n    before\n    up \d+\n", err), err


@pytest.mark.parametrize("policy, ups", [("task", 3), ("all", 4)])
def test_the_death_of_an_executor_comes_from_outside_and_leads_to_a_restart(
    node, tmp_path, policy, ups
):
    script = f"echo up $$; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    command = ("-m", node.master.address, "-w", 2, "--restart-policy", policy)
    with running_tfrun(*command, "--", "sh", "-c", script) as run:
        lines = read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        own = kill_executor(node, lines, "worker:0")
        lines = read_until(run.stdout, "[worker:0] up")
        assert gone(own, 0)  # it had ended before it was started again
        (tmp_path / "go").touch()
        out, err = finish(run)
    assert run.returncode == 0, err
    assert 2 + len(re.findall(r"\] up ", "".join(lines) + out)) == ups
    assert "worker:0" in err and "restart 1" in err
