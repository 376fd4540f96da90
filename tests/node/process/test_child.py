"""One command of the runner, and how its output is read."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psutil
import pytest

from tests.runners import gone, in_own_session
from tfmesos.node.loop import Loop
from tfmesos.node.process import child
from tfmesos.node.process.child import Child
from tfmesos.node.process.guard import Guard
from tfmesos.shared import process


class PauseCountingLoop(Loop):
    pauses = 0

    def after(self, seconds, callback):
        self.pauses += seconds == child.READ_PAUSE
        return super().after(seconds, callback)


def output_of(script, seen=lambda: None):
    """What a command wrote to its standard output, as it was read, and how often nobody looked."""
    pieces = []

    def read(stream, data):
        if stream == "stdout" and data:
            pieces.append(data)
            seen()

    with PauseCountingLoop() as loop:
        argv = [sys.executable, "-S", "-c", script]
        guard = Guard("nobody")
        command = Child(loop, guard, argv, dict(os.environ), os.getcwd(), read)
        loop.run_until(lambda: command.ended)
        guard.close()
    assert command.returncode == 0
    return pieces, loop.pauses


def test_a_command_that_writes_line_by_line_is_not_read_line_by_line():
    pieces, pauses = output_of(
        "import time\n"
        "for step in range(300):\n"
        "    print(step, flush=True)\n"
        "    time.sleep(0.0005)\n"
    )
    assert b"".join(pieces).split() == [b"%d" % step for step in range(300)]
    assert len(pieces) - 2 <= pauses <= len(pieces)


def test_what_is_written_after_a_pause_is_read_at_once(tmp_path):
    seen = tmp_path / "seen"
    pieces, _ = output_of(
        "import os, time\n"
        "os.write(1, b'1')\n"
        f"while not os.path.exists({str(seen)!r}): time.sleep(0.01)\n"
        "os.write(1, b'2')\n",
        seen.touch,
    )
    assert pieces == [b"1", b"2"]


def test_a_command_that_is_paused_waits_and_nothing_of_its_output_is_lost():
    taken = bytearray()

    def read(stream, data):
        taken.extend(data)
        if stream == "stdout" and data:
            command.pause()
            loop.after(0.001, command.resume)

    with Loop() as loop:
        argv = [
            sys.executable,
            "-S",
            "-c",
            "import os\nfor _ in range(99): os.write(1, bytes(9999))",
        ]
        guard = Guard("nobody")
        command = Child(loop, guard, argv, dict(os.environ), os.getcwd(), read)
        loop.run_until(lambda: command.ended)
        guard.close()
    assert len(taken) == 99 * 9999


def test_a_command_that_ends_while_it_is_paused_has_ended_all_the_same():
    taken = bytearray()
    with Loop() as loop:
        argv = [sys.executable, "-S", "-c", "import os; os.write(1, bytes(50000))"]
        guard = Guard("nobody")
        read = lambda stream, data: taken.extend(data)  # noqa: E731
        command = Child(loop, guard, argv, dict(os.environ), os.getcwd(), read)
        command.pause()
        loop.run_until(lambda: command.ended)
        guard.close()
    assert len(taken) == 50000


def test_a_flood_is_not_held_up_however_small_its_pieces():
    pieces, pauses = output_of("import os\nfor _ in range(4096): os.write(1, bytes(4096))")
    assert sum(map(len, pieces)) == 4096 * 4096
    assert pauses < 50  # one for each pipeful would be 256


# A runner in small: a guard and a command that ignores all it can and has a daemon likewise.
# It is killed at line AT of child.py, guard.py and spawn.py, counted from where the command is
# started; the fork that becomes the command takes its time.
RUNNER = """
import linecache, os, signal, sys, time
from tfmesos.node.process.child import Child
from tfmesos.node.process.guard import Guard
from tfmesos.node.loop import Loop

task, at, script = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lines, parent = 0, os.getpid()
WATCHED = ("/child.py", "/guard.py", "/spawn.py")

def count(frame, event, _):
    global lines
    if os.getpid() == parent and frame.f_code.co_filename.endswith(WATCHED):
        lines += event == "line"
        if lines == at:
            os.kill(parent, signal.SIGKILL)
    elif "os.exec" in linecache.getline(frame.f_code.co_filename, frame.f_lineno):
        time.sleep(0.3)
    return count

with Loop() as loop:
    guard = Guard(task)
    print(guard._pid, flush=True)
    sys.settrace(count)
    env = {**os.environ, "TFMESOS_TASK_ID": task}
    command = Child(loop, guard, ["/bin/sh", "-c", script], env, "/", lambda stream, data: None)
    sys.settrace(None)
    print("ready", lines, command.pid, flush=True)
    loop.run_until(lambda: False)
"""
STUBBORN = (
    "trap '' TERM INT HUP; setsid sh -c 'while :; do sleep 60; done' & "
    "env -i PATH=$PATH SMALL_RUNNER=$SMALL_RUNNER sleep 60 & wait"  # without the mark
)


def marked(task):
    """The living processes of a task, one that is on its way to its command included."""
    return [p for p in psutil.process_iter() if _has(p, {process.MARK: task})]


def _has(candidate, variables):
    try:
        environment = candidate.environ()
        return variables.items() <= environment.items() and candidate.status() != "zombie"
    except psutil.Error:
        return False


@contextmanager
def small_runner(task, *, at=-1, script=STUBBORN):
    """The process, and the pid of its guard."""
    argv = [sys.executable, "-S", "-c", RUNNER, task, str(at), script]
    home = os.path.dirname(os.path.dirname(os.path.dirname(child.__file__)))
    env = {**os.environ, "SMALL_RUNNER": task, "PYTHONPATH": home}
    started = in_own_session(argv, stdout=subprocess.PIPE, env=env)
    try:
        yield started, int(started.stdout.readline())
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
        process.kill_marked(process.MARK, task)


def left_of(task):
    """What bears the mark of the task, and forks of its runner, which do not bear it yet."""
    forks = [p for p in psutil.process_iter() if _has(p, {"SMALL_RUNNER": task})]
    return [p for p in {*marked(task), *forks} if not gone(p.pid)]


@pytest.fixture(scope="module")
def lines():
    """How many lines of ours it takes to start a command."""
    with small_runner("count") as (runner, _):
        return int(runner.stdout.readline().split()[1])


def test_no_command_is_left_at_whatever_line_its_runner_is_killed(lines):
    assert lines > 30
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(check_kill_at, range(1, lines + 1)))


def check_kill_at(line):
    with small_runner(f"killed-at-{line}", at=line) as (runner, _guard):
        assert runner.wait() == -signal.SIGKILL
        assert left_of(f"killed-at-{line}") == [], f"line {line}"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_guard_that_was_told_to_end_kills_a_command_that_takes_no_signal(number):
    task = f"told-by-{number}"
    with small_runner(task) as (runner, guard):
        assert runner.stdout.readline().startswith(b"ready")
        os.kill(guard, number)
        process.kill_session(runner.pid)  # as an agent does
        assert left_of(task) == []


def test_a_guard_leaves_no_daemon_of_a_command_that_has_ended():
    with small_runner("daemon", script="setsid sleep 60 & exit 0") as (runner, _):
        ready, _, leader = runner.stdout.readline().split()
        assert ready == b"ready" and gone(int(leader))
        runner.kill()
        assert left_of("daemon") == []


def test_a_stopped_guard_can_be_closed():
    guard = Guard("stopped")
    os.kill(guard._pid, signal.SIGSTOP)
    guard.close()
    assert not psutil.pid_exists(guard._pid)


def test_a_guard_that_is_closed_too_early_leaves_no_command_either():
    with Loop() as loop:
        guard = Guard("early")
        env = {**os.environ, process.MARK: "early"}
        command = Child(loop, guard, ["/bin/sh", "-c", STUBBORN], env, "/", lambda *_: None)
        guard.close()
    assert marked("early") == []
    assert command.returncode == -signal.SIGKILL
