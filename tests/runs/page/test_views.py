"""Where a run stands and what it uses is read on, not anew, and told with its past."""

import json

import pytest

from tests.runs.page.site import DEAD, add_run
from tests.runs.test_recorder import Recorded
from tfmesos.config.job import Job
from tfmesos.core.outcome import Outcome
from tfmesos.errors import Interrupted
from tfmesos.runs.event_json import to_json
from tfmesos.runs.live_status import LiveStatus
from tfmesos.runs.page.run_list import RunList
from tfmesos.runs.page.usage_plot import MOST_OF_A_TASK, Usage
from tfmesos.runs.page.views import whole
from tfmesos.runs.progress_bar_file import bar_line
from tfmesos.runs.recorder import Recorder


@pytest.fixture
def recorder(store):
    about = {"jobs": {"worker": 1}, "cwd": "/", "launcher": to_json(DEAD)}
    recorder = Recorder(store.create(lambda: "aaaa"), about, print, lambda: 1000.0)
    yield recorder
    recorder._writer.close(10)


def test_a_run_that_somebody_ended_is_stopped_and_not_failed(recorder):
    recorder.end(Outcome(error=Interrupted("stopped by its owner")), [])
    told = whole(LiveStatus(recorder.directory), 1000.0)
    assert (told["phase"], told["code"]) == ("stopped", 130)


def test_a_run_whose_output_could_not_be_written_has_failed(recorder):
    recorder.end(Outcome(error=Interrupted("the output cannot be written", 74)), [])
    assert whole(LiveStatus(recorder.directory), 1000.0)["phase"] == "failed"


def test_a_run_that_succeeded_has_lost_no_task(recorder):
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    recorder.end(Outcome(), [])  # the end of the task was not written: the disk was full
    (task,) = whole(LiveStatus(recorder.directory), 1000.0)["all"]
    assert task["state"] == "ended"


def test_the_states_of_a_task_are_told_with_their_times(recorder):
    progress = LiveStatus(recorder.directory)
    assert whole(progress, 1000.0)["all"] == []
    run = Recorded(recorder, Job("worker", 1, cmd="train")).up()
    run.now = 5.0
    run.exit("worker:0", 3)
    recorder.end(Outcome(), [])
    (task,) = whole(progress, 1000.0)["all"]
    states = [state for _, state in task["states"]]
    assert states == ["starting", "running", "failed"]
    assert task["states"][-1][0] == task["ended"] == 5.0
    assert whole(progress, 1000.0)["all"] == [task]  # nothing is read twice


def test_what_nobody_saw_the_end_of_is_lost(recorder):
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    recorder._writer.close(10)
    told = whole(LiveStatus(recorder.directory), 1000.0)
    assert told["is_over"] and told["phase"] == "lost"
    assert [task["state"] for task in told["all"]] == ["lost"]


def test_a_line_that_is_being_written_is_read_when_it_is_whole(recorder):
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    recorder._writer.close(10)
    events = recorder.directory.events_file
    data = events.read_bytes()
    events.write_bytes(data[:-20])
    progress = LiveStatus(recorder.directory)
    progress.look()
    assert [state for _, state in progress.history["worker:0"]] == ["starting"]
    events.write_bytes(data)
    progress.look()
    assert [state for _, state in progress.history["worker:0"]] == ["starting", "running"]


def test_a_run_that_is_gone_leaves_the_list(recorder, store):
    runs = RunList(store)
    assert [row["id"] for row in runs.rows()] == ["aaaa"]
    recorder.discard()
    assert runs.rows() == []


def test_a_bar_from_before_the_task_was_started_again_is_not_shown(recorder):
    run = Recorded(recorder, Job("worker", 1, cmd="train"))
    run.now = 5.0
    run.up()
    progress, file = LiveStatus(recorder.directory), recorder.directory.progress_file
    while progress.look().phase != "running":  # the recorder writes in a thread
        pass
    file.write_bytes(bar_line("worker:0", 4.9, "1/2"))
    assert progress.bars() == {}
    file.write_bytes(file.read_bytes() + bar_line("worker:0", 5.1, "1/4"))
    assert {name: bar.part for name, bar in progress.bars().items()} == {"worker:0": 0.25}


def measured(at, task="worker:0", **more):
    return json.dumps({"task": task, "at": at, "cpu": 10.0, "memory": 5, **more}) + "\n"


def test_measurements_are_read_on_and_anew_when_their_file_was_replaced(recorder):
    usage, file = Usage(recorder.directory), recorder.directory.measurements_file
    assert usage.look() == {}
    file.write_text(measured(1, gpus=[{"busy": 7}, {"busy": 9}, {"busy": None}]) + measured(2)[:9])
    assert usage.look() == {"worker:0": [(1.0, 10.0, 5.0, 9.0)]}
    file.write_text(file.read_text()[:-9] + measured(2))
    assert usage.look() == {"worker:0": [(2.0, 10.0, 5.0, None)]}
    new = file.with_suffix(".new")
    new.write_text(measured(2) + measured(3))
    new.replace(file)
    assert [point[0] for point in usage.look()["worker:0"]] == [2.0, 3.0]


def test_what_is_no_measurement_is_passed_over(recorder):
    recorder.directory.measurements_file.write_text(
        'x\n[]\n{}\n{"task": 1}\n' + measured("y") + measured(1, gpus=3) + measured(4)
    )
    assert [point[0] for point in Usage(recorder.directory).look()["worker:0"]] == [4.0]


def test_of_a_long_run_no_more_points_are_told_than_can_be_drawn(recorder):
    recorder.directory.measurements_file.write_text("".join(map(measured, range(10_000))))
    points = Usage(recorder.directory).look()["worker:0"]
    assert MOST_OF_A_TASK // 2 < len(points) <= MOST_OF_A_TASK
    assert points[-1][0] == 9999.0


def test_the_settings_of_a_run_are_told_in_words(store):
    run = add_run(store, "aaaa")
    about = json.loads(run.about_file.read_text())
    settings = {"env": ["A", "B"], "run_timeout": "300.0"}
    run.about_file.write_text(json.dumps({**about, "settings": settings}))
    facts = dict(whole(LiveStatus(run), 1000.0)["facts"])
    assert facts["Settings"] == "env A B, run_timeout 300.0"
    assert facts["Command"] == "tfrun -- train"
