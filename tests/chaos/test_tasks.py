"""Runners and the user's processes die, stop, or do what processes should not do."""

from __future__ import annotations

import os
import signal
import sys

import psutil
import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.runners import gone

# worker:0 tells its pids; the others wait.
WORKERS = "[ {task_index} = 0 ] && echo up $PPID $$; exec sleep 600"


def pids(run):
    """Those of the runner and of the command of worker:0, once it is up."""
    (*_, line) = read_until(run.stdout, "[worker:0] up")
    return [int(word) for word in line.split()[-2:]]


@pytest.mark.bound(20)
def test_a_killed_runner_fails_the_run_and_takes_its_command_with_it(bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        runner, _command = pids(run)
        bound.struck()
        os.kill(runner, signal.SIGKILL)
        _, err = finish(run, bound.left)
    assert run.returncode == 137
    assert "tfrun: worker:0 was killed by SIGKILL (signal 9) on " in err, err


def guard_of(runner, command):
    """Its other child."""
    return next(p.pid for p in psutil.Process(runner).children() if p.pid != command)


@pytest.mark.bound(20)
def test_a_task_is_ended_whole_when_its_runner_and_its_guard_are_killed(bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        runner, command = pids(run)
        guard = guard_of(runner, command)
        bound.struck()
        os.kill(guard, signal.SIGKILL)
        os.kill(runner, signal.SIGKILL)
        _, err = finish(run, bound.left)
        assert gone(command, 0)
    assert run.returncode == 137
    assert "tfrun: worker:0 was killed by SIGKILL (signal 9) on " in err, err


@pytest.mark.bound(20)
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_guard_keeps_neither_its_runner_nor_the_run(end, bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        os.kill(guard_of(*pids(run)), signal.SIGSTOP)
        bound.struck()
        run.send_signal(end)
        finish(run, bound.left)
    assert run.returncode == (130 if end == signal.SIGINT else -end)


@pytest.mark.bound(20)
def test_a_stopped_guard_does_not_outlive_a_killed_runner(bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        runner, command = pids(run)
        os.kill(guard_of(runner, command), signal.SIGSTOP)
        bound.struck()
        os.kill(runner, signal.SIGKILL)
        finish(run, bound.left)
    assert run.returncode == 137


@pytest.mark.bound(20)
def test_a_killed_command_is_the_cause_and_its_code_that_of_the_run(bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        _runner, command = pids(run)
        bound.struck()
        os.kill(command, signal.SIGKILL)
        _, err = finish(run, bound.left)
    assert run.returncode == 137
    assert "tfrun: worker:0 was killed by SIGKILL (signal 9) on " in err, err


@pytest.mark.bound(20)
def test_a_stopped_command_does_not_hold_up_the_end_of_the_run(tmp_path, bound):
    """It cannot take SIGTERM, so it is killed after its grace."""
    fail = tmp_path / "fail"
    script = f"echo up $PPID $$; until [ -e {fail} ] && [ {{task_index}} = 1 ]; do sleep 0.05; done"
    with running_tfrun("-w", 2, "--", f"{script}; exit 3") as run:
        _runner, command = pids(run)
        os.kill(command, signal.SIGSTOP)
        bound.struck()
        fail.touch()
        _, err = finish(run, bound.left)
    assert run.returncode == 3
    assert "tfrun: worker:1 exited with 3 on " in err, err


@pytest.mark.bound(20)
def test_a_stopped_runner_does_not_hold_up_an_interrupt(bound):
    with running_tfrun("-w", 2, "--", WORKERS) as run:
        runner, _command = pids(run)
        os.kill(runner, signal.SIGSTOP)
        bound.struck()
        run.send_signal(signal.SIGINT)
        finish(run, bound.left)
    assert run.returncode == 130


@pytest.mark.bound(20)
def test_a_command_that_ignores_sigterm_is_killed_after_its_grace(tmp_path, bound):
    deaf = tmp_path / "deaf"
    fail = f"until [ -e {deaf} ]; do sleep 0.05; done; exit 4"
    ignore = f"trap 'echo I will not' TERM; touch {deaf}; while :; do sleep 0.05; done"
    script = f"if [ {{task_index}} = 1 ]; then {fail}; else {ignore}; fi"
    bound.struck()
    done = tfrun("-w", 2, "--", script, timeout=bound.left)
    assert (done.returncode, done.stdout) == (4, "[worker:0] I will not\n")


DAEMON = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
print("forked", flush=True)
"""


@pytest.mark.bound(20)
@pytest.mark.parametrize(
    "end, code", [("", 0), ("os._exit(5)", 5), ("os.kill(os.getpid(), 9)", 137)]
)
def test_daemons_do_not_outlive_their_task(end, code, bound):
    """They left its session and closed nothing; the fixtures see what is left."""
    bound.struck()
    done = tfrun("-w", 1, "--", sys.executable, "-c", DAEMON + end, timeout=bound.left)
    assert (done.returncode, done.stdout) == (code, "[worker:0] forked\n")


@pytest.mark.bound(20)
def test_a_command_that_writes_without_end_can_be_interrupted(bound):
    with running_tfrun("-w", 2, "--", "yes", "0123456789" * 10) as run:
        read_until(run.stdout, "[worker:0]", "[worker:1]")
        bound.struck()
        run.send_signal(signal.SIGINT)
        out, _ = finish(run, bound.left)
    assert run.returncode == 130
    whole = {f"[worker:{index}] {'0123456789' * 10}" for index in (0, 1)}
    assert set(out.splitlines()) <= whole, "a line was torn"


@pytest.mark.bound(20)
def test_a_flood_does_not_hold_up_the_failure_of_another_task(bound):
    script = "[ {task_index} = 1 ] && { sleep 0.5; exit 6; }; exec yes"
    bound.struck()
    done = tfrun("-w", 2, "--", script, timeout=bound.left)
    assert done.returncode == 6


@pytest.mark.bound(20)
def test_a_command_that_closes_its_output_is_heard_of_all_the_same(tmp_path, bound):
    go = tmp_path / "go"
    script = f"echo last; exec >&- 2>&-; until [ -e {go} ]; do sleep 0.05; done; exit 9"
    with running_tfrun("-w", 1, "--", script) as run:
        read_until(run.stdout, "[worker:0] last")
        bound.struck()
        go.touch()
        _, err = finish(run, bound.left)
    assert run.returncode == 9 and "    last\n" in err


@pytest.mark.bound(20)
def test_a_command_that_leaves_its_output_to_a_daemon_has_ended_when_it_has(bound):
    bound.struck()
    done = tfrun("-w", 1, "--", "sh", "-c", "setsid sleep 600 & echo up", timeout=bound.left)
    assert (done.returncode, done.stdout) == (0, "[worker:0] up\n")
