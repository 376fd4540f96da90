"""What a run was told and what its tasks wrote can be read while it goes on and afterwards."""

import json
import os

import pytest

from tests.core.run import Run
from tests.sentences import names
from tfmesos.config.engine_kinds import LOCAL
from tfmesos.config.job import Job
from tfmesos.core import events as happened
from tfmesos.core.outcome import Outcome
from tfmesos.core.rules import Rules
from tfmesos.engines.local import events as local
from tfmesos.launcher.deciders import Beginning
from tfmesos.runs import recorder as recording
from tfmesos.runs.following import Output
from tfmesos.runs.recorder import Recorder
from tfmesos.runs.replay import replay
from tfmesos.runs.run_directories import Store
from tfmesos.runs.status import Reader


class Recorded(Run):
    """A replayed run, with a recorder that looks on."""

    def __init__(self, recorder, *jobs, **rules):
        beginning = Beginning("run", 0.0, jobs, Rules(**rules), seed=7, kind=LOCAL)
        super().__init__(*jobs, **rules)
        self.state, engine = beginning.lifecycle(), beginning.engine()
        self.deciders = type(self.deciders)(self.state, engine, recorder.told)
        self.recorder = recorder
        recorder.begun(beginning)

    def __call__(self, event):
        self.recorder.happened(event, self.now)
        return super().__call__(event)


@pytest.fixture
def directory(tmp_path):
    return Store(tmp_path).create(lambda: "aaaa")


@pytest.fixture
def recorder(directory):
    complaints = []
    recorder = Recorder(
        directory, {"jobs": {"worker": 2}, "cwd": "/"}, complaints.append, wall=lambda: 1000.0
    )
    recorder.complaints = complaints
    yield recorder
    recorder._writer.close(10)


def texts(output):
    return [(name, line.stream, line.text) for name, line in output.read()]


def test_a_git_that_has_ended_is_no_zombie_for_as_long_as_the_run(recorder):
    git = recorder._git
    os.waitid(os.P_PID, git.pid, os.WEXITED | os.WNOWAIT)
    recorder.happened(happened.Ticked(), 1.0)
    assert git.returncode is not None


def test_the_decisions_of_a_run_can_be_made_again_from_its_record(recorder, directory):
    run = Recorded(recorder, Job("worker", 2, cmd="train"), Job("ps", 1, cmd="serve")).up()
    run.exit("worker:1", 3)
    run.wait(60)
    recorder.end(run.outcome, ["worker:1 exited with 3"])
    decided = [action for _, _, actions in replay(directory) for action in actions]
    assert [repr(action) for action in decided] == [repr(action) for action in run.log]
    assert directory.outcome["exit_code"] == 3


def test_where_each_task_stands_is_told_from_the_record(recorder, directory):
    run = Recorded(recorder, Job("worker", 2, cmd="train")).up()
    run.now = 5.0
    run.exit("worker:0")
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    assert status.phase == "running"
    assert status.counts() == {"worker": {"succeeded": 1, "running": 1}}
    first = status.tasks["worker:0"]
    assert (first.state, first.code, first.ended, first.address) == (
        *("succeeded", 0, 5.0),
        "10.0.0.1:4000",
    )


def test_held_tasks_are_what_the_run_waits_for_until_they_end(recorder, directory):
    run, held = Recorded(recorder, Job("worker", 2, cmd="train")).up(), []
    for name in ("worker:0", "worker:1"):
        run(happened.TaskHeld(run.id(name), "exited with 7"))
        held.append(run.id(name))
    recorder.end(Outcome(), [])
    reader = Reader()
    status = reader.read(directory.entries())
    assert (status.phase, status.counts()) == ("running", {"worker": {"held": 2}})
    assert names(status.why, "worker:0, worker:1 are held", "tfrun continue")
    for task_id, why in zip(held, ("worker:1 is held until tfrun continue", ""), strict=True):
        reader.take(happened.TaskExited(task_id, 7, "exited with 7"), 9.0)
        assert status.why == why


def test_a_task_that_was_started_again_says_how_often(recorder, directory):
    run = Recorded(recorder, Job("worker", 1, cmd="train"))
    run.place()
    run.gone("worker:0")
    recorder.end(Outcome(), [])
    task = Reader().read(directory.entries()).tasks["worker:0"]
    assert (task.state, task.restarts) == ("starting", 1)


def test_what_the_run_waits_for_is_in_the_record(recorder, directory):
    run = Recorded(recorder, Job("worker", 1, cmd="train", gpus=1))
    run.place()
    run(local.GpusHeld(0, ("run 7 of alice",)))
    run.wait(10)
    recorder.end(Outcome(), [])
    assert "run 7 of alice" in Reader().read(directory.entries()).why


def test_the_output_of_all_tasks_comes_back_in_the_order_of_its_arrival(recorder, directory):
    times = iter([1.0, 2.0, 3.0, 4.0])
    recorder._wall = lambda: next(times, 5.0)
    recorder.written("worker:0", "stdout", "a\n", 0)
    recorder.written("worker:1", "stderr", "b\n", 0)
    recorder.written("worker:0", "stdout", "c\nd\n", 0)
    recorder.end(Outcome(), [])
    assert texts(Output(directory, None)) == [
        ("worker:0", "stdout", "a"),
        ("worker:1", "stderr", "b"),
        ("worker:0", "stdout", "c"),
        ("worker:0", "stdout", "d"),
    ]
    assert texts(Output(directory, ["worker:1"])) == [("worker:1", "stderr", "b")]


def test_lines_that_never_arrived_are_counted_in_the_log(recorder, directory):
    recorder.written("worker:0", "stdout", "after\n", 12)
    recorder.end(Outcome(), [])
    (task, stream, text), after = texts(Output(directory, None))
    assert (task, stream, after) == ("worker:0", "tfrun", ("worker:0", "stdout", "after"))
    assert names(text, "12 lines left out", "too fast")


def test_a_full_disk_is_said_once_and_the_run_goes_on(recorder, directory, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tfmesos.runs.task_log.append", full)
    for _ in range(3):
        recorder.written("worker:0", "stdout", "text\n", 0)
    assert recorder._writer.close(30)
    recorder.written("worker:0", "stdout", "text\n", 0)
    (said,) = recorder.complaints
    assert "no longer recorded" in said and "No space left on device" in said


def test_a_disk_that_is_too_slow_costs_lines_and_not_memory(recorder, directory, monkeypatch):
    monkeypatch.setattr("tfmesos.runs.writer.MOST_WAITING", -1)
    recorder.written("worker:0", "stdout", "1\n2\n", 0)
    monkeypatch.setattr("tfmesos.runs.writer.MOST_WAITING", 1000)
    recorder.written("worker:0", "stdout", "3\n", 0)
    recorder.end(Outcome(), [])
    left_out, after = [text for _, _, text in texts(Output(directory, None))]
    assert names(left_out, "2 lines left out", "disk") and after == "3"


def test_what_was_left_out_at_last_is_counted_too(recorder, directory, monkeypatch):
    monkeypatch.setattr("tfmesos.runs.writer.MOST_WAITING", -1)
    for _ in range(3):
        recorder.written("worker:0", "stdout", "1\n2\n", 0)
    recorder.happened("Ticked", 1.0)
    recorder.end(Outcome(), [])
    ((_, _, text),) = texts(Output(directory, None))
    assert names(text, "6 lines left out", "disk")
    assert list(directory.entries()) == [{"left_out": 1}]
    assert directory.outcome["exit_code"] == 0


def test_an_end_that_is_told_late_is_of_the_attempt_it_belongs_to(recorder, directory):
    run = Recorded(recorder, Job("worker", 1, cmd="train")).up()
    (first,) = [member.task_id for member in run.state.members]
    run(happened.RestartRequested(first, False))
    run.exit("worker:0", 143)
    run.wait(11)
    recorder.told(happened.TaskEnded(first, 143, "exited with 143"), run.now)
    run.register()
    run.ready()
    recorder.end(Outcome(), [])
    task = Reader().read(directory.entries()).tasks["worker:0"]
    assert (task.state, task.restarts, task.reason, task.ended) == ("running", 1, "", None)


def test_events_of_another_version_are_passed_over(recorder, directory):
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    recorder.end(Outcome(), [])
    unknown = {"at": 1.0, "event": {"is": "core.events.TaskReady", "task_id": "x", "new": 1}}
    with directory.events_file.open("a") as file:
        file.write(json.dumps(unknown) + "\n")
    assert Reader().read(directory.entries()).tasks["worker:0"].state == "running"


def test_many_tasks_share_the_room_of_one_run(directory):
    recorder = Recorder(directory, {"jobs": {"worker": 1000}, "cwd": "/"}, print)
    assert recorder._limit == recording.RUN_LIMIT // 1000
    recorder.discard()
    assert not directory.path.exists()


def test_a_record_that_was_cut_in_a_crash_can_be_read(recorder, directory):
    Recorded(recorder, Job("worker", 1, cmd="train")).up()
    recorder._writer.close(30)
    whole = directory.events_file.read_bytes()
    directory.events_file.write_bytes(whole[:-5])
    assert len(list(directory.entries())) == whole.count(b"\n") - 1
    Reader().read(directory.entries())
