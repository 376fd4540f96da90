"""A report that is taller than the terminal ends with what it says first."""

import pytest

from tfmesos.config.job import Job
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.errors import TaskFailed
from tfmesos.launcher.screen.failure_report import closing, failure_report

(TASK,) = Job("worker", 1, cmd="train").tasks
HEADLINE = "worker:0 exited with 3 on node-a"


def failed(*tail):
    cause = Ending(TASK, "node-a", 3, "exited with 3", tail, 0.0, "id")
    return Outcome(error=TaskFailed("worker:0", "exited with 3 on node-a", 3), cause=cause)


def closed(outcome, run_id="abcd", size=(80, 24)):
    return closing(failure_report(outcome), outcome, run_id, *size)


@pytest.mark.parametrize("tail", [["x"] * 20, ["x" * 400] * 3])
def test_the_headline_comes_last_with_the_run_and_what_shows_more(tail):
    headline, more = closed(failed(*tail))
    assert headline == HEADLINE
    assert "abcd" in more and "tfrun logs abcd worker:0" in more


def test_a_short_report_is_not_repeated():
    assert closed(failed("one", "two")) == []
    assert closed(failed(*["x"] * 20), size=(80, 60)) == []


def test_of_a_run_that_is_not_recorded_only_the_headline_is_repeated():
    assert closed(failed(*["x"] * 20), run_id="") == [HEADLINE]
