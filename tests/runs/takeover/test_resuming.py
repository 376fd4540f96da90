"""The record of a lost run in the hands of the next launcher."""

from __future__ import annotations

import json
import socket
import time
from types import SimpleNamespace

import pytest

from tests.builders import workers
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.past import CannotTakeOver
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import LauncherProcess, this_process
from tfmesos.runs.run_directories import Store
from tfmesos.runs.takeover import keys_file, resuming
from tfmesos.runs.takeover.hold import Hold

CONFIG = make_config(workers(1), master="mesos:5050")
DEAD = LauncherProcess(socket.gethostname(), "another boot", 1, 1)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Its launcher has died; what it wrote down is not looked at."""
    monkeypatch.setattr(resuming, "past_of", lambda run, before: None)
    run = Store(tmp_path / "runs").create(lambda: "abcd")
    about = {"began": time.time(), "survive": 600, "jobs": {"worker": 1}, "cwd": "/"}
    run.about_file.write_text(json.dumps({**about, "launcher": to_json(DEAD)}))
    run.events_file.write_text('{"at": 5}\n')
    keys_file.keep(run, CONFIG)
    return run


@pytest.fixture
def resumed():
    """Takes a run over, until the end of the test."""
    made = []

    def resume(run):
        made.append(resuming.Resumed(run, CONFIG, SimpleNamespace(named=str)))
        return made[-1]

    yield resume
    for each in made:
        each._recorder.leave()
        each._hold.release()


def test_the_next_launcher_names_itself_and_holds_the_run(run, resumed):
    resumed(run)
    about = json.loads(run.about_file.read_text())
    assert about["launchers"] == 2
    assert run.launcher == this_process()
    with pytest.raises(CannotTakeOver, match="is alive"):
        resuming.check_lost(run)


def test_a_launcher_that_waited_for_the_lock_goes_on_from_the_one_that_had_it(
    run, resumed, monkeypatch
):
    """That one had learned something, and died."""

    def hold_later(run):
        between = keys_file.keep(run, CONFIG, 2, keys_file.read(run))
        between.keep("owner", "found")
        return Hold(run)

    monkeypatch.setattr(resuming, "Hold", hold_later)
    keys = resumed(run).keys
    assert (keys.epoch, keys.get("owner")) == (3, "found")
    assert keys_file.read(run).epoch == 3


def test_a_run_whose_keys_cannot_be_read_is_left_as_it_was(run, resumed):
    about = run.about_file.read_text()
    run.keys_file.write_text("{")
    with pytest.raises(CannotTakeOver, match=r"run abcd .*: its keys cannot be read"):
        resumed(run)
    assert run.about_file.read_text() == about
    Hold(run).release()  # nobody has it


@pytest.mark.parametrize("has_left", [True, False])
def test_after_an_internal_error_another_launcher_may_go_on_unless_the_tasks_were_ended(
    run, has_left
):
    one = resuming.Resumed(run, CONFIG, SimpleNamespace(named=str))
    one.past, one._run = "a past", SimpleNamespace(has_left=has_left)
    one.__exit__(KeyError, KeyError("x"), None)
    assert run.keys_file.exists() is not has_left
    outcome = run.outcome or {}
    assert outcome.get("exit_code") == (70 if has_left else None)
    assert ("internal error" in outcome.get("error", "")) is has_left
