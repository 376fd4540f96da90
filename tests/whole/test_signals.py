"""Signals, and streams that nobody reads or writes."""

import signal
import subprocess
import sys

import pytest

from tests.commands import (
    environment,
    finish,
    read_until,
    running_tfrun,
    tfrun,
)


def test_a_second_interrupt_ends_it_at_once():
    script = 'trap "echo I will not" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun("-w", 1, "--stop-grace", "1h", "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up")
        run.send_signal(signal.SIGINT)
        read_until(run.stdout, "[worker:0] I will not")
        run.send_signal(signal.SIGINT)
        _, err = finish(run)
    assert run.returncode == 130 and "ended without waiting for worker:0" in err


def test_when_nobody_reads_the_output_the_run_ends():
    with running_tfrun("-w", 1, "--", "sh", "-c", "while :; do echo x; sleep 0.01; done") as run:
        read_until(run.stdout, "x")
        run.stdout.close()
        assert run.wait() == 141


def test_output_that_is_read_is_complete():
    code = "for i in range(20000): print(i)"
    done = tfrun("-w", 2, "--", sys.executable, "-c", code)
    for name in ("worker:0", "worker:1"):
        mine = [x.split()[1] for x in done.stdout.splitlines() if x.startswith(f"[{name}]")]
        assert mine == [str(i) for i in range(20000)]


def test_ctrl_c_in_a_pipeline_is_as_orderly_as_without(tmp_path):
    """The reader dies of it, too; that is no second Ctrl-C."""
    saved = tmp_path / "saved"
    script = f'trap "sleep 0.5; touch {saved}; exit 0" TERM; while :; do echo x; sleep 0.05; done'
    with running_tfrun("-w", 1, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "x")
        run.send_signal(signal.SIGINT)
        run.stdout.close()
        assert run.wait() == 130
    assert saved.exists()


def test_an_ignored_hangup_stays_ignored():
    script = (
        f"trap '' HUP; exec {sys.executable} -m tfmesos -w 1 -- sh -c 'echo up; read x; echo on'"
    )
    go = subprocess.Popen(
        ["sh", "-c", script], stdout=subprocess.PIPE, text=True, env=environment(), bufsize=1
    )
    with go:
        read_until(go.stdout, "[worker:0] up")
        go.send_signal(signal.SIGHUP)
        assert go.wait() == 0


def test_output_that_cannot_be_written_is_said_with_its_reason():
    with open("/dev/full", "w") as full:
        with running_tfrun("-w", 1, "--", "yes", "x", stdout=full) as run:
            assert run.wait() == 74
            assert "the output cannot be written: " in run.stderr.read()


@pytest.mark.parametrize("_attempt", range(4))
def test_lost_output_is_said_although_the_run_is_over_by_then(_attempt):
    with open("/dev/full", "w") as full:
        with running_tfrun("-w", 1, "--", "echo", "x", stdout=full) as run:
            assert run.wait() == 74
            assert "the output cannot be written: " in run.stderr.read()


@pytest.mark.parametrize("closing", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_do_no_harm(closing, tmp_path):
    proof = tmp_path / "proof"
    script = f"{sys.executable} -m tfmesos -w 1 -- sh -c 'echo x; touch {proof}' {closing}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, env=environment())
    assert done.returncode == 0 and proof.exists()


def test_a_task_has_the_time_and_the_signal_it_asked_for_to_end(tmp_path):
    """A command that ignores everything but SIGINT, and takes longer than usual."""
    saved = tmp_path / "checkpoint"
    script = f"trap '' TERM; trap 'sleep 6; echo saved > {saved}; exit 0' INT; echo up; "
    flags = ("--stop-grace", "2m", "--stop-signal", "INT")
    with running_tfrun("-w", 1, *flags, "--", script + "while :; do sleep 0.1; done") as run:
        read_until(run.stdout, "[worker:0] up")
        run.send_signal(signal.SIGINT)
        _, err = finish(run)
    assert saved.read_text() == "saved\n"
    assert "tfrun: stopping worker:0; Ctrl-C again to kill\n" in err
    assert run.returncode == 130
