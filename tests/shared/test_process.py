from __future__ import annotations

import errno
import os
import signal
import subprocess

import pytest

from tests.runners import gone, in_own_session
from tfmesos.shared import process


@pytest.fixture
def started():
    """Starts shells, each to be waited for by its first line; kills what is left of them."""
    running = []

    def start(script: str) -> subprocess.Popen[bytes]:
        child = in_own_session(["/bin/bash", "-c", script], stdout=subprocess.PIPE)
        running.append(child)
        assert child.stdout is not None
        child.first_line = child.stdout.readline()
        return child

    yield start
    for child in running:
        process.kill_session(child.pid)
        child.stdout.close()
        child.wait()


def test_a_command_leads_a_session_of_its_own(started):
    child = started("echo; exec sleep 60")
    assert os.getsid(child.pid) == child.pid
    assert process.members(child.pid) == [child.pid]


def test_a_signal_reaches_every_group_of_the_session(started):
    child = started("set -m; sleep 60 & echo $!; wait")
    grandchild = int(child.first_line)
    assert os.getpgid(grandchild) != child.pid
    process.signal_sessions([child.pid], signal.SIGTERM)
    assert gone(grandchild)
    assert child.wait() == -signal.SIGTERM


def test_nothing_is_left_however_the_command_ignores_signals(started):
    child = started(
        "trap '' TERM INT HUP; (trap '' TERM; sleep 60; sleep 60) & echo; sleep 60; sleep 60"
    )
    assert process.kill_session(child.pid)
    assert process.members(child.pid) == []


def test_nothing_is_left_of_a_command_that_keeps_forking(started, tmp_path):
    (tmp_path / "forks.py").write_text(
        "import os, time\nprint(flush=True)\n"
        "for _ in range(200):\n    if os.fork() == 0: time.sleep(60)\n    time.sleep(0.0005)\n"
    )
    child = started(f"exec python3 {tmp_path}/forks.py")
    assert process.kill_session(child.pid)
    assert process.members(child.pid) == []


def test_the_dead_do_not_count_even_before_they_are_reaped(started):
    child = started("echo; exit 3")
    assert gone(child.pid)
    assert process.has_ended(child)
    assert child.returncode is None  # not reaped
    assert process.members(child.pid) == []
    assert child.wait() == 3
    assert process.has_ended(child)


def test_a_running_process_has_not_ended(started):
    assert not process.has_ended(started("echo; exec sleep 60"))


def test_a_session_that_is_gone_can_be_killed_again(started):
    child = started("echo")
    child.wait()
    process.signal_sessions([child.pid], signal.SIGTERM)
    assert process.kill_session(child.pid)


def test_a_program_with_brackets_in_its_name_is_found(started, tmp_path):
    odd = tmp_path / "a) Z (b"
    odd.symlink_to("/bin/sleep")
    child = started(f"'{odd}' 60 & echo $!; wait")
    assert int(child.first_line) in process.members(child.pid)


@pytest.mark.parametrize("returncode, code", [(0, 0), (3, 3), (-9, 137), (-15, 143)])
def test_the_exit_code_is_counted_as_a_shell_counts(returncode, code):
    assert process.exit_code(returncode) == code


@pytest.mark.parametrize("padding", [0, 3_000, 100_000])
def test_a_mark_is_found_however_long_the_environment_before_it(padding):
    env = {"PADDING": "x" * padding, "TFMESOS_TASK_ID": f"after-{padding}"}
    child = subprocess.Popen(["/bin/sleep", "60"], env=env)
    process.kill_marked("TFMESOS_TASK_ID", f"after-{padding}")
    assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize("number", list(signal.Signals))
def test_the_end_by_a_signal_is_told_by_its_name(number):
    words = f"was killed by {number.name} (signal {number:d})"
    assert process.ending(-number) == (128 + number, words)


def test_the_end_by_a_signal_without_a_name_is_told_by_its_number():
    assert process.ending(-40) == (168, "was killed by a signal (signal 40)")


@pytest.mark.parametrize(
    "error, is_limit",
    [
        (OSError(errno.EAGAIN, "x"), True),
        (RuntimeError("can't start new thread"), True),
        (ExceptionGroup("x", [ValueError(), OSError(errno.EAGAIN, "x")]), True),
        (OSError(errno.ENOMEM, "x"), False),
        (RuntimeError("x"), False),
        (ExceptionGroup("x", [ValueError()]), False),
    ],
)
def test_a_limit_of_processes_is_known_by_its_errors(error, is_limit):
    assert process.is_limit(error) == is_limit
    assert (process.in_words(error) == process.AT_LIMIT) == is_limit
