"""``--on-end`` and ``--metrics-file`` of whole runs."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.bounds import HANG
from tests.commands import running_tfrun, tfrun, without_waits
from tests.runs.test_metrics_file import checked
from tfmesos import TaskFailed, cluster

TELL = 'echo "$TFMESOS_RUN $TFMESOS_STATE $TFMESOS_EXIT_CODE $TFMESOS_REASON"'


def test_a_run_tells_its_end_and_its_metrics_whether_it_fails_or_not(tmp_path):
    told, metrics = tmp_path / "told", tmp_path / "run.prom"
    flags = ("-w", 2, "--metrics-file", metrics, "--on-end", f"{TELL} >> {told}; exit 9")
    good = tfrun(*flags, "--", "sh", "-c", "echo one; echo two")
    assert good.returncode == 0
    assert "on_end exited with 9; the run itself ended with 0" in good.stderr
    lines = checked(metrics.read_text())
    run_id = told.read_text().split()[0]
    assert {
        f'tfmesos_run_running{{run="{run_id}"}} 0',
        f'tfmesos_run_exit_code{{run="{run_id}"}} 0',
        f'tfmesos_tasks{{run="{run_id}",job="worker",state="succeeded"}} 2',
        f'tfmesos_task_lines_total{{run="{run_id}",task="worker:1"}} 2',
    } < lines
    bad = tfrun(*flags, "--no-record", "--", "exit 3")
    assert bad.returncode == 3
    assert " failed 3 worker:" in told.read_text().splitlines()[1]


def test_a_run_from_python_tells_its_end(tmp_path):
    told = tmp_path / "told"
    jobs = {"name": "worker", "num": 1, "cmd": "exit 4"}
    with pytest.raises(TaskFailed), cluster(jobs, quiet=True, on_end=f"{TELL} > {told}") as c:
        c.wait()
    assert " failed 4 worker:0" in told.read_text()


@pytest.mark.parametrize(
    "flags, said, code",
    [
        (["--on-end", " "], "--on-end must be a shell command", 2),
        (["--on-end", "https://me:hush@host/"], "--on-end must be http(s)://HOST/... without", 2),
        (["--metrics-file", "/none/run.prom"], "--metrics-file /none/run.prom: No such file", 74),
    ],
)
def test_what_cannot_be_done_is_one_line_and_starts_nothing(flags, said, code):
    done = tfrun("-w", 1, *flags, "--", "touch", "begun")
    assert done.returncode == code and done.stderr.startswith(f"tfrun: {said}")
    assert done.stderr.count("\n") == 1 and "hush" not in done.stderr
    assert not os.path.exists("begun") and tfrun("list").stdout == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_command_and_the_run_has_ended_as_it_has(tmp_path, number):
    """That nothing of the command is left is what a fixture sees to."""
    begun = tmp_path / "begun"
    command = f"echo $TFMESOS_STATE > {begun}; sleep 600 & wait"
    with running_tfrun("-w", 1, "--on-end", command, "--", "true") as run:
        while not (begun.exists() and begun.read_text()):  # the test times out if it never is
            time.sleep(0.05)
        run.send_signal(number)
        assert run.wait(HANG) == 0
        assert "on_end was interrupted; the run itself ended with 0" in run.stderr.read()


def test_an_empty_text_asks_for_nothing():
    done = tfrun("-w", 1, "--on-end", "", "--", "true")
    assert (done.returncode, without_waits(done.stderr)) == (0, "")


def test_a_run_that_is_refused_tells_no_end(tmp_path):
    told = tmp_path / "told"
    assert tfrun("-w", 1, "-Mw", 1, "--on-end", f"touch {told}", "--", "true").returncode == 2
    assert not told.exists()
