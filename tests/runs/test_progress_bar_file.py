"""The progress bar of a task can be looked up while it runs; of each the last state counts."""

import json

import pytest

from tests.runs.test_recorder import Recorded
from tfmesos.config.job import Job
from tfmesos.core.outcome import Outcome
from tfmesos.runs.progress_bar_file import ProgressLog, ProgressReader, bar_line
from tfmesos.runs.recorder import Recorder
from tfmesos.runs.run_directories import Store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "progress.jsonl"


def test_the_last_state_of_each_bar_is_read_on_as_it_changes(path):
    log, reader = ProgressLog(path), ProgressReader(path)
    assert reader.look() == {}
    log.append(bar_line("worker:0", 5.0, "10%|#  | 1/10") + bar_line("worker:1", 5.0, "3/4"))
    assert reader.look() == {"worker:0": (5.0, "10%|#  | 1/10"), "worker:1": (5.0, "3/4")}
    log.append(bar_line("worker:0", 5.0, "20%") + bar_line("worker:0", 5.0, "30%"))
    log.append(bar_line("worker:1", 5.0, ""))
    assert reader.look() == {"worker:0": (5.0, "30%")}  # the other has ended


def test_a_log_of_bars_stays_small_and_loses_no_last_state(path):
    log, reader = ProgressLog(path, limit=2000), ProgressReader(path)
    log.append(bar_line("ps:0", 5.0, "1/2"))
    for number in range(500):
        log.append(bar_line("worker:0", 5.0, f"{number}/500"))
        assert path.stat().st_size <= 2000
        if number % 7 == 0:
            assert reader.look() == {"ps:0": (5.0, "1/2"), "worker:0": (5.0, f"{number}/500")}
    last = {"ps:0": (5.0, "1/2"), "worker:0": (5.0, "499/500")}
    assert ProgressReader(path).look() == reader.look() == last


def test_what_is_no_bar_is_passed_over(path):
    path.write_bytes(
        b'x\n[]\n{}\n{"task": "a", "at": [], "bar": "2"}\n'
        + bar_line("worker:0", 5.0, "1/2")
        + b'{"ta'
    )
    assert ProgressReader(path).look() == {"worker:0": (5.0, "1/2")}


def test_a_recorder_keeps_bars_until_the_run_has_ended(store_directory):
    about = {"jobs": {"worker": 1}, "cwd": "/"}
    recorder = Recorder(store_directory, about, print)
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    assert recorder.wants_progress
    recorder.progressed("worker:0", "\udcff 5/10")
    reader = ProgressReader(store_directory.progress_file)
    while not (found := reader.look()):
        pass
    assert found["worker:0"][1].endswith(" 5/10")
    recorder.end(Outcome(), [])
    assert not store_directory.progress_file.exists()
    assert json.loads(store_directory.outcome_file.read_text())["exit_code"] == 0


@pytest.fixture
def store_directory(tmp_path):
    return Store(tmp_path / "runs").create(lambda: "aaaa")
