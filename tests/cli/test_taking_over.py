"""A stopped launcher is ended for the next one, but only if the run can be taken over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import contextmanager, suppress

import pytest

from tests.bounds import HANG
from tests.runs.takeover.recorded import CONFIG, record_of_a_run
from tfmesos.cli import taking_over
from tfmesos.cli.taking_over import end_by_keys, take_over
from tfmesos.errors import EngineError
from tfmesos.launcher import abandoned_run
from tfmesos.launcher.past import CannotTakeOver
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import this_process
from tfmesos.runs.run_directories import Store
from tfmesos.runs.run_files import RunDirectory
from tfmesos.runs.takeover import keys_file, lost_runs
from tfmesos.version import __version__


@contextmanager
def stopped_launcher():
    launcher = subprocess.Popen(["sleep", str(HANG)])
    try:
        launcher.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, launcher.pid, os.WSTOPPED)
        yield launcher
    finally:
        launcher.kill()
        launcher.wait()


@pytest.fixture
def launcher():
    with stopped_launcher() as one:
        yield one


@pytest.fixture
def run(tmp_path, launcher):
    """That of the stopped launcher."""
    run = Store(tmp_path / "runs").create(lambda: "abcd")
    about = {"began": time.time(), "survive": 600, "versions": {"tfmesos": __version__}}
    about["launcher"] = to_json(this_process(launcher.pid))
    run.about_file.write_text(json.dumps(about))
    run.events_file.write_bytes(record_of_a_run())
    keys_file.keep(run, CONFIG)
    return run


def other_version(run):
    about = {**json.loads(run.about_file.read_text()), "versions": {"tfmesos": "0.9"}}
    run.about_file.write_text(json.dumps(about))


def no_keys(run):
    run.keys_file.write_text("{")


def no_credentials(run):
    config = CONFIG.replace(access=CONFIG.access.replace(principal="p", secret=b"s"))
    keys_file.keep(run, config)


def other_record(run):
    lines = run.events_file.read_bytes().splitlines(keepends=True)
    run.events_file.write_bytes(b"".join(line for line in lines if b"OffersReceived" not in line))


def nonsense(run):
    run.taken_file.write_text("nonsense\n")


@pytest.mark.parametrize(
    "damage, words",
    [
        (other_version, "it was started by tfmesos 0.9"),
        (no_keys, "its keys cannot be read"),
        (no_credentials, "not started by tfrun"),
        (other_record, "its record is inconsistent"),
        (nonsense, "run abcd cannot be taken over"),
    ],
)
def test_a_stopped_launcher_whose_run_cannot_be_taken_over_can_go_on(run, launcher, damage, words):
    damage(run)
    with pytest.raises(CannotTakeOver, match=words):
        take_over(run, level="notice")
    assert launcher.poll() is None
    assert run.launcher.is_stopped


def test_a_stopped_launcher_is_ended_before_the_next_one_continues(run, launcher, monkeypatch):
    monkeypatch.setattr(taking_over, "launch", lambda record, **how: 3)
    assert take_over(run, level="notice") == 3
    assert launcher.wait(HANG) == -signal.SIGKILL


def test_a_stopped_launcher_that_somebody_else_ends_first_is_no_fault(run, launcher, monkeypatch):
    kill = os.kill

    def too_late(pid, number):
        kill(pid, number)
        launcher.wait()
        raise ProcessLookupError

    monkeypatch.setattr(lost_runs.os, "kill", too_late)
    lost_runs.end_stopped(run)
    assert run.launcher.is_alive is False


@pytest.mark.parametrize("error", [None, EngineError("Slurm does not answer")])
def test_the_keys_of_a_run_stay_unless_its_engine_has_ended_its_tasks(run, error, monkeypatch):
    def end_tasks(*_):
        if error is not None:
            raise error

    monkeypatch.setattr(abandoned_run, "end_tasks", end_tasks)
    with suppress(EngineError):
        end_by_keys(run)
    assert run.keys_file.exists() is (error is not None)
    assert (RunDirectory(run.path).outcome is None) is (error is not None)
