"""What tasks used is kept in a file of limited size, the present more finely than the past."""

from __future__ import annotations

import json
from itertools import pairwise

from tfmesos.core.outcome import Outcome
from tfmesos.launcher.links.usage import Gpu, Usage
from tfmesos.runs.measurements import MeasurementLog, latest, line_of, read_measurements
from tfmesos.runs.recorder import Recorder
from tfmesos.runs.run_directories import Store


def test_a_measurement_is_a_line_of_json():
    line = line_of(1000.04, "worker:0", Usage(187.4, 700, (Gpu(93, 10, None),)))
    assert json.loads(line) == {
        "task": "worker:0",
        "at": 1000.0,
        "cpu": 187.4,
        "memory": 700,
        "gpus": [{"busy": 93, "used": 10, "total": None}],
    }
    assert "gpus" not in json.loads(line_of(1, "worker:0", Usage(1.0, 2)))


def test_the_record_has_what_the_tasks_used(tmp_path):
    directory = Store(tmp_path).create(lambda: "aaaa")
    about = {"jobs": {"worker": 1}, "cwd": "/"}
    recorder = Recorder(directory, about, print, wall=lambda: 1000.0)
    recorder.measured("worker:0", Usage(50.0, 700))
    recorder.measured("worker:1", Usage(5.0, 7))
    recorder.measured("worker:0", Usage(60.0, 800))
    recorder.end(Outcome(), [])
    cpus = [(one["task"], one["cpu"]) for one in read_measurements(directory.measurements_file)]
    assert cpus == [("worker:0", 50.0), ("worker:1", 5.0), ("worker:0", 60.0)]
    assert latest(directory.measurements_file)["worker:0"]["memory"] == 800


def test_a_full_file_keeps_the_whole_run_and_the_present_most_finely(tmp_path):
    log = MeasurementLog(tmp_path / "file", limit=100_000)
    for at in range(0, 50_000, 5):
        for task in ("worker:0", "ps:0"):  # an even number: every second line would be one task
            log.append(line_of(at, task, Usage(1.0, at)))
    assert (tmp_path / "file").stat().st_size <= 100_000
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    for task in ("worker:0", "ps:0"):
        kept = [one["at"] for one in read_measurements(tmp_path / "file") if one["task"] == task]
        assert (kept[0], kept[-1]) == (0, 49_995)
        gaps = [later - earlier for earlier, later in pairwise(kept)]
        assert gaps == sorted(gaps, reverse=True)
        assert (gaps[0], gaps[-1]) == (160, 5) and len(kept) > 300


def test_lines_that_are_no_measurement_are_passed_over(tmp_path):
    path = tmp_path / "file"
    whole = line_of(1, "worker:0", Usage(1.0, 2))
    path.write_bytes(b"nonsense\n[]\n{}\n" + whole + whole[:-10])
    assert [one["at"] for one in read_measurements(path)] == [1]
    assert list(read_measurements(tmp_path / "missing")) == []


def test_the_end_of_a_long_file_is_read_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"".join(line_of(at, "worker:0", Usage(1.0, 2)) for at in range(100)))
    size = len(line_of(99, "worker:0", Usage(1.0, 2)))
    assert [one["at"] for one in read_measurements(path, 3 * size - 5)] == [98, 99]
