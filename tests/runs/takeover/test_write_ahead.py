"""A launcher that may be followed by another one writes down first, and acts then."""

from __future__ import annotations

import threading

import pytest

from tests.bounds import HANG
from tfmesos.core import events as happened
from tfmesos.core.outcome import Outcome
from tfmesos.launcher.observer import Counted
from tfmesos.runs import recorder as module
from tfmesos.runs.recorder import Recorder
from tfmesos.runs.run_directories import Store
from tfmesos.runs.takeover import taken_messages

ABOUT = {"jobs": {"worker": 1}, "cwd": "/"}


@pytest.fixture
def directory(tmp_path):
    return Store(tmp_path).create(lambda: "aaaa")


@pytest.fixture
def recorder(directory):
    recorder = Recorder(directory, ABOUT, pytest.fail, wall=lambda: 1000.0, confirms=True)
    yield recorder
    recorder._writer.close(10)


def recorded(directory):
    return [entry["event"]["task_id"] for entry in directory.entries()]


def test_all_that_has_happened_is_in_the_record_when_it_is_secured(recorder, directory):
    for task_id in ("id-0", "id-1"):
        recorder.happened(happened.TaskReady(task_id), 1.0)
    recorder.secure()
    assert recorded(directory) == ["id-0", "id-1"]


def test_a_message_is_confirmed_only_after_what_it_led_to_is_in_the_record(recorder, directory):
    at_that_time, confirmed = [], threading.Event()

    def confirm(numbers):
        at_that_time.append((dict(numbers), recorded(directory)))
        confirmed.set()

    recorder.confirm_to(confirm)
    recorder.happened(happened.TaskReady("id-0"), 1.0)
    recorder.counted(Counted("id-0", 7))
    assert confirmed.wait(HANG)
    assert at_that_time == [({"id-0": 7}, ["id-0"])]


def test_what_nobody_acted_on_is_in_the_record_at_the_end_too(recorder, directory):
    recorder.happened(happened.TaskReady("id-0"), 1.0)
    recorder.end(Outcome(), [])
    assert recorded(directory) == ["id-0"]


class Killed(BaseException):
    pass


def test_a_launcher_that_is_killed_while_it_writes_its_last_file_costs_no_line(
    recorder, directory, monkeypatch
):
    def write_whole(*_):
        raise Killed

    recorder.written("worker:0", "stdout", "all\n", 0, Counted("id-0", 1))
    monkeypatch.setattr(module, "write_whole", write_whole)
    with pytest.raises(Killed):
        recorder.end(Outcome(), [])
    monkeypatch.undo()
    before = taken_messages.read(directory.taken_file)
    following = Recorder(directory, ABOUT, pytest.fail, confirms=True, before=before)
    following.end(Outcome(), [])
    assert directory.log_file("worker:0").read_text().endswith(" all\n")
    assert directory.outcome_file.exists() and not directory.taken_file.exists()
