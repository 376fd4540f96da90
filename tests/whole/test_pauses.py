"""A reader, the launcher or their link pauses: no line is lost without a word."""

from __future__ import annotations

import fcntl
import re
import signal
import sys
import termios
import time

import pytest

from tests.bounds import HANG
from tests.chaos.stage import Gate
from tests.commands import finish, running_tfrun, tfrun

LINES = 400_000  # far more than all buffers hold
WRITER = "import sys\nfor n in range({}): print('%07d' % n, 'x' * 80)\nopen({!r}, 'w').close()"


def writer(marker, lines=LINES):
    """A command that writes numbered lines and then makes the file *marker*."""
    return [sys.executable, "-c", WRITER.format(lines, str(marker))]


def numbers(text):
    """Of the lines of worker:0."""
    return [int(line.split()[1]) for line in text.splitlines() if line.startswith("[worker:0] ")]


def left_out(err):
    return sum(int(number) for number in re.findall(r"\((\d+) lines left out here", err))


def wait_until(condition, within=HANG):
    """For what no event tells of."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def wait_until_nothing_moves(stream, seconds=2.0):
    """Until the pipe is full, and what is waiting behind it has come to rest."""
    count = bytearray(4)

    def waiting():
        fcntl.ioctl(stream, termios.FIONREAD, count)
        return int.from_bytes(count, sys.byteorder)

    wait_until(waiting)
    seen, since = 0, time.monotonic()
    while time.monotonic() - since < seconds:
        if waiting() != seen:
            seen, since = waiting(), time.monotonic()
        time.sleep(0.05)


# A stalled reader


def test_on_one_machine_a_reader_that_pauses_makes_the_task_wait_and_nothing_is_lost(tmp_path):
    marker = tmp_path / "ended"
    with running_tfrun("-w", 1, "--", *writer(marker)) as run:
        wait_until_nothing_moves(run.stdout, 13.0)  # longer than any patience with an end
        assert not marker.exists() and run.poll() is None
        out, err = finish(run)
    assert run.returncode == 0, err
    assert numbers(out) == list(range(LINES))


def test_the_end_of_a_run_waits_for_a_reader_that_pauses(tmp_path):
    """All of the output fits into the buffers: the task has ended long before it is read."""
    with running_tfrun("-w", 1, "--", *writer(tmp_path / "ended", 50_000)) as run:
        wait_until_nothing_moves(run.stdout, 13.0)
        out, _ = finish(run)
    assert run.returncode == 0
    assert numbers(out) == list(range(50_000))


@pytest.mark.parametrize(
    "signals, code", [([signal.SIGTERM], 143), ([signal.SIGINT], 130), ([signal.SIGINT] * 2, 130)]
)
def test_a_run_whose_reader_is_stalled_can_be_ended_and_says_what_is_left_out(
    signals, code, tmp_path
):
    with running_tfrun("-w", 1, "--", *writer(tmp_path / "ended")) as run:
        wait_until_nothing_moves(run.stdout)
        for number in signals:
            run.send_signal(number)
            time.sleep(0.3)  # as fast as fingers are
        run.wait(HANG)
        err = run.stderr.read()
    assert run.returncode == code, err
    assert re.search(r"tfrun: (interrupted|terminated)", err)
    assert re.search(r"tfrun: about \d+ lines .* left out.*\n$", err)


def test_a_run_that_only_waits_for_its_reader_can_be_ended(tmp_path):
    marker = tmp_path / "ended"
    with running_tfrun("-w", 1, "--", *writer(marker, 5_000)) as run:
        wait_until(marker.exists)
        wait_until_nothing_moves(run.stdout)
        run.terminate()
        assert run.wait(HANG) == 143
        assert "lines of output were left out" in run.stderr.read()


# A stopped launcher


def stop_while_its_task_writes(tmp_path, *flags):
    """Stop tfrun until its task has ended, or waits; return its exit code, output and errors."""
    gate, ended, out = Gate(tmp_path), tmp_path / "ended", tmp_path / "out"
    command = ["sh", "-c", f'echo go > {gate.path}; exec "$0" "$@"', *writer(ended, 100_000)]
    with out.open("w") as file, running_tfrun(*flags, "-w", 1, "--", *command, stdout=file) as run:
        gate.wait()
        run.send_signal(signal.SIGSTOP)
        time.sleep(13.0)  # longer than the patience of a runner whose command has ended
        run.send_signal(signal.SIGCONT)
        err = run.stderr.read()
        return run.wait(HANG), numbers(out.read_text()), err


def test_on_one_machine_a_stopped_launcher_makes_its_task_wait_and_nothing_is_lost(tmp_path):
    code, seen, err = stop_while_its_task_writes(tmp_path)
    assert (code, seen) == (0, list(range(100_000))), err


def test_a_runner_that_is_killed_may_have_lost_output_and_that_is_said(tmp_path):
    script = "echo up; kill -9 $PPID; sleep 60"
    done = tfrun("-w", 1, "--", "sh", "-c", script)
    assert done.returncode == 137
    assert "the last output of worker:0 may be missing: its runner could not report" in done.stderr


# A stream that does not block


NON_BLOCKING = """
import os, sys, time
job, stream, begun, written = sys.argv[1:]
if job == "chief":
    os.set_blocking(1, False)
    os.set_blocking(2, False)
    open(begun, "w").close()
    while not os.path.exists(written):  # it decides about the run: its end is that of the others
        time.sleep(0.02)
else:
    while not os.path.exists(begun):
        time.sleep(0.02)
    for n in range(30000):
        print("%07d" % n, "x" * 80, file=getattr(sys, stream), flush=n == 29999)
    open(written, "w").close()
"""


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_stream_that_somebody_made_non_blocking_is_waited_for(stream, tmp_path):
    begun, written = tmp_path / "begun", tmp_path / "written"
    task = [sys.executable, "-c", NON_BLOCKING, "{job_name}", stream, begun, written]
    with running_tfrun("--chief", "--local-chief", "-w", 1, "--", *task) as run:
        wait_until(begun.exists)
        wait_until_nothing_moves(getattr(run, stream), 1.0)
        out, err = finish(run)
    assert run.returncode == 0, err
    assert numbers(out if stream == "stdout" else err) == list(range(30_000))
