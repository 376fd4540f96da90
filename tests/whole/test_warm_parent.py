"""The parent of the runners of a run on this machine."""

from __future__ import annotations

import os
import signal
import sys

import psutil
import pytest

from tests.chaos.stage import python_wrapper
from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.processes import commands_below
from tests.runners import gone

# Tells its runner, and waits for a file.
WAITS = "echo up $PPID; until [ -e {go} ]; do sleep 0.05; done"


def parents_of(run):
    """The processes beneath a launcher that fork runners."""
    children = commands_below(run.pid, recursive=False)
    return [child for child, words in children if any("forks" in word for word in words)]


def runner_of(run):
    return int(read_until(run.stdout, "up ")[-1].split()[-1])


def test_runners_are_forked_from_one_parent_each_in_a_session_of_its_own(tmp_path):
    go = tmp_path / "go"
    with running_tfrun("-w", 2, "--", WAITS.format(go=go)) as run:
        lines = read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        runners = {int(line.split()[-1]) for line in lines}
        (parent,) = parents_of(run)
        assert {child.pid for child in parent.children()} == runners
        assert {os.getsid(pid) for pid in runners} == runners
        assert {os.path.basename(os.readlink(f"/proc/{pid}/fd/0")) for pid in runners} == {"null"}
        go.touch()
        finish(run)
    assert run.returncode == 0 and gone(parent.pid, 0)


def test_a_runner_is_told_by_its_environment_and_shows_no_secret(tmp_path):
    with running_tfrun("-w", 1, "--", "echo $MESOS_SANDBOX; " + WAITS.format(go="/none")) as run:
        sandbox = read_until(run.stdout, "] /")[-1].split()[-1]
        environ = psutil.Process(runner_of(run)).environ()
        assert environ["MESOS_SANDBOX"] == sandbox and "TFMESOS_SECRET" not in environ
        run.send_signal(signal.SIGINT)
        finish(run)


def test_a_killed_parent_takes_nothing_with_it(tmp_path):
    go = tmp_path / "go"
    with running_tfrun("-w", 2, "--", WAITS.format(go=go)) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        (parent,) = parents_of(run)
        parent.kill()
        parent.wait()
        go.touch()
        _, err = finish(run)
    assert run.returncode == 0, err


def test_a_task_is_started_again_after_the_parent_was_killed(tmp_path):
    go = tmp_path / "go"
    with running_tfrun("-w", 1, "--restart-policy", "task", "--", WAITS.format(go=go)) as run:
        runner = runner_of(run)
        (parent,) = parents_of(run)
        parent.kill()
        parent.wait()
        os.kill(runner, signal.SIGKILL)
        assert runner_of(run) != runner
        go.touch()
        finish(run)
    assert run.returncode == 0


def test_a_runner_that_is_killed_after_its_parent_is_reported(tmp_path):
    with running_tfrun("-w", 1, "--restarts", 0, "--", WAITS.format(go="/none")) as run:
        runner = runner_of(run)
        (parent,) = parents_of(run)
        parent.kill()
        parent.wait()
        os.kill(runner, signal.SIGKILL)
        _, err = finish(run)
    assert run.returncode == 1
    assert "worker:0 ended with an unknown exit code" in err


def test_a_stopped_parent_does_not_hold_up_the_end_of_a_run():
    with running_tfrun("-w", 1, "--", WAITS.format(go="/none")) as run:
        runner_of(run)
        (parent,) = parents_of(run)
        parent.suspend()
        run.send_signal(signal.SIGINT)
        finish(run)
    assert run.returncode == 130 and gone(parent.pid, 0)


def test_with_another_python_the_stub_is_used(tmp_path):
    python = python_wrapper(tmp_path)
    with running_tfrun("--python", python, "-w", 1, "--", WAITS.format(go="/none")) as run:
        runner = psutil.Process(runner_of(run))
        assert parents_of(run) == [] and runner.ppid() == run.pid
        run.send_signal(signal.SIGINT)
        finish(run)


@pytest.mark.parametrize("code", [0, 3, 211])
def test_the_exit_code_of_a_forked_runner_is_that_of_its_command(code):
    done = tfrun("-w", 1, "--", sys.executable, "-c", f"raise SystemExit({code})")
    assert done.returncode == code
