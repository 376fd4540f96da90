"""The record of a run knows its generations."""

from math import inf

import pytest

from tests.builders import workers
from tests.core.restart_policies import ALL, KILLED
from tests.runs.test_recorder import Recorded
from tests.runs.test_recorder import directory as directory
from tests.runs.test_recorder import recorder as recorder
from tfmesos.config.job import Job
from tfmesos.core import events as happened
from tfmesos.core.outcome import Outcome
from tfmesos.runs.live_status import LiveStatus
from tfmesos.runs.page.views import whole
from tfmesos.runs.replay import replay
from tfmesos.runs.status import Reader


class Updated(Recorded):
    def change(self, number):
        """Update to so many workers, and have them run."""
        self(happened.UpdateRequested((workers(number),), (f"to {number}",)))
        self.stopped()

    def stopped(self):
        for member in list(self.state.members):
            if member.is_live:
                self(happened.TaskExited(member.task_id, 143, "stopped", was_stopped=True))
        self.wait(1)
        self.tasks = [member.task for member in self.state.members]
        self.seen()
        self.back()


def test_a_run_is_decided_once_more_through_its_generations(recorder, directory):
    run = Updated(recorder, workers(2), restarts=ALL).up()
    run.change(4)
    run.exit("worker:3", KILLED)
    run.stopped()
    run.change(1)
    run.exit("worker:0", 0)
    assert run.outcome.ok
    recorder.end(run.outcome, [])
    decided = [action for _, _, actions in replay(directory) for action in actions]
    assert [repr(action) for action in decided] == [repr(action) for action in run.log]


def test_status_tells_each_generation_and_the_tasks_of_the_present_one(recorder, directory):
    run = Updated(recorder, workers(2), restarts=ALL).up()
    run.now = 10.0
    run.change(4)
    run.exit("worker:3", KILLED)
    run.stopped()
    run.change(1)
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    assert [(one.number, one.shape) for one in status.generations] == [
        (0, {"worker": 2}),
        (1, {"worker": 4}),
        (2, {"worker": 4}),
        (3, {"worker": 1}),
    ]
    assert status.generations[1].at == 10.0 and "to 4" in status.generations[1].why
    assert "worker:3" in status.generations[2].why
    (task,) = status.tasks.values()
    assert (task.name, task.state, task.restarts) == ("worker:0", "running", 1)
    assert status.phase == "running"


def test_the_page_has_a_mark_where_each_generation_begins(recorder, directory):
    run = Updated(recorder, workers(2)).up()
    run.now = 10.0
    run.change(3)
    recorder.end(Outcome(), [])
    (mark,) = whole(LiveStatus(directory), 2000.0)["generations"]
    assert (mark["name"], mark["at"]) == ("Generation 1", 10.0)
    assert "3 worker" in mark["words"] and "to 3" in mark["words"]


def test_the_time_of_each_generation_is_known_by_the_clock_on_the_wall(recorder, directory):
    run = Updated(recorder, workers(2)).up()
    recorder._wall = lambda: 1077.0  # set-up took its time: the clock of events began before
    run.now = 10.0
    run.change(3)
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    assert status.span(0) == (0.0, 1077.0) and status.span(1) == (1077.0, inf)
    assert status.span(2) is None


def test_tasks_that_there_is_no_room_for_are_not_tasks_of_the_generation(recorder, directory):
    run = Updated(recorder, workers("1:3", gpus=1))
    run.place()
    left = tuple(run.id(f"worker:{n}") for n in (1, 2))
    recorder.told(happened.TasksLeftOut(left, "no room"), 1.0)
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    assert list(status.tasks) == ["worker:0"]
    assert status.generations[-1].shape == {"worker": 1}


def test_what_is_told_late_of_the_last_generation_is_not_told_of_the_next(recorder, directory):
    run = Updated(recorder, workers(1)).up()
    old = run.id("worker:0")
    run.change(2)
    run(happened.TaskExited(old, 1, "late"))
    recorder.end(Outcome(), [])
    states = {task.state for task in Reader().read(directory.entries()).tasks.values()}
    assert states == {"running"}


def rolling(run, number, change):
    """Have these workers updated, one after the other."""
    run(happened.UpdateRequested((workers(number, mem=2048.0),), (change,), is_rolling=True))
    for n in range(number):
        run(happened.TaskExited(run.id(f"worker:{n}"), 143, "stopped", was_stopped=True))
        run.back()
        run.wait(10)


def test_a_rolling_update_is_part_of_the_history_of_its_generation(recorder, directory):
    run = Updated(recorder, workers(2)).up()
    run.now = 10.0
    rolling(run, 2, "other mem")
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    ((update,),) = [one.updates for one in status.generations]
    assert (update.at, update.why, update.tasks) == (10.0, "other mem", ("worker:0", "worker:1"))
    assert (update.is_going_on, update.problem) == (False, "") and "complete" in update.words
    assert [task.restarts for task in status.tasks.values()] == [0, 0]
    (mark,) = whole(LiveStatus(directory), 2000.0)["generations"]
    assert mark["at"] == 10.0 and "other mem" in mark["words"]
    decided = [action for _, _, actions in replay(directory) for action in actions]
    assert [repr(action) for action in decided] == [repr(action) for action in run.log]


def test_the_history_tells_why_a_rolling_update_has_stopped(recorder, directory):
    run = Updated(recorder, workers(1)).up()
    run(happened.UpdateRequested((workers(1, mem=2048.0),), ("so",), is_rolling=True))
    for code in (143, 3, 3):
        run(happened.TaskExited(run.id("worker:0"), code, f"exited with {code}"))
        run.wait(1)
        run.back("worker:0")
    recorder.end(Outcome(), [])
    (update,) = Reader().read(directory.entries()).updates
    assert not update.is_going_on and "worker:0 failed twice (exited with 3)" in update.problem


def test_a_rolling_update_ends_where_the_next_generation_begins(recorder, directory):
    run = Updated(recorder, workers(2)).up()
    run(happened.UpdateRequested((workers(2, mem=2048.0),), ("so",), is_rolling=True))
    run.change(2)
    recorder.end(Outcome(), [])
    (update,) = Reader().read(directory.entries()).updates
    assert not update.is_going_on and "generation 1" in update.problem


@pytest.mark.parametrize("back", [["worker:0"], ["worker:0", "worker:1"]])
def test_a_generation_has_begun_with_its_tasks_even_if_its_tensorboard_cannot_run(
    recorder, directory, back
):
    board = Job("tensorboard", 1, cmd="board")
    run = Updated(recorder, workers(1), board).up()
    run(happened.UpdateRequested((workers(2), board), ("to 2",)))
    for member in list(run.state.members):
        run(happened.TaskExited(member.task_id, 143, "stopped", was_stopped=True))
    run.wait(1)
    run.tasks = [member.task for member in run.state.members]
    run.seen()
    run(happened.TaskExited(run.id("tensorboard:0"), 127, "no such program"))
    for name in back:
        run.back(name)
    recorder.end(Outcome(), [])
    status = Reader().read(directory.entries())
    assert (status.generation, status.has_begun) == (1, len(back) == 2)
