"""What a run tells of itself when it is over: its error, its code, its times."""

import pytest

from tests.builders import workers
from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.core.phases import Phase
from tfmesos.core.stopping import KILL_GRACE
from tfmesos.core.stopwatch import Stopwatch
from tfmesos.errors import Interrupted

from .life import FIRST, SECOND, Life, exited


@pytest.mark.parametrize(
    "reason, words",
    [
        ("exited with 3", "exited with 3 on vm"),
        ("ended: a fault; its sandbox has it", "ended: a fault on vm; its sandbox has it"),
        ("failed (gone; NO_IMAGE)", "failed (gone; NO_IMAGE) on vm"),
        ("failed (gone; X); try again", "failed (gone; X) on vm; try again"),
        ("is odd (and; open", "is odd (and; open on vm"),
    ],
)
def test_the_host_is_named_before_what_else_is_said(reason, words):
    (task,) = workers(1).tasks
    ending = Ending(task, "vm", 1, reason, (), 0.0, "t")
    assert str(Outcome.of_failure(ending).error) == f"worker:0 {words}"
    assert str(Outcome.of_failure(ending.replace(hostname="")).error) == f"worker:0 {reason}"


def test_a_run_that_is_stopped_says_by_whom():
    life = Life().up()
    todo = life(happened.StopRequested("got SIGINT", 130), 4.0)
    assert [(stop.reason, stop.grace) for stop in only(do.StopRunner, todo)] == [
        ("got SIGINT", KILL_GRACE)
    ] * 2
    assert life.state.is_failing
    life(exited(FIRST, 143))
    life(exited(SECOND, 143))
    assert isinstance(life.outcome.error, Interrupted)
    assert (str(life.outcome.error), life.outcome.exit_code) == ("got SIGINT", 130)
    assert not life.outcome.ok


def test_a_run_that_is_stopped_without_a_code_has_gone_well():
    life = Life().up()
    todo = life(happened.StopRequested("left", 0), 4.0)
    assert {stop.reason for stop in only(do.StopRunner, todo)} == {"the run is over"}
    assert not life.state.is_failing
    life(happened.StopRequested("interrupted", 130), 5.0)  # Ctrl-C then: at once
    assert (life.outcome.ok, life.outcome.exit_code) == (True, 0)
    assert life.outcome.unstopped == ("worker:0", "worker:1")


def test_a_failure_is_told_with_its_host_and_those_after_it():
    life = Life().up()
    life(exited(FIRST, 3, "exited with 3"), 4.0)
    life(exited(SECOND, 5, "exited with 5"), 5.0)
    outcome = life.outcome
    assert str(outcome.error) == f"worker:0 exited with 3 on host-{FIRST}"
    assert (outcome.exit_code, outcome.cause.task_id, outcome.cause.tail) == (3, FIRST, ("last",))
    assert [ending.code for ending in outcome.others] == [5]
    assert (outcome.unstopped, outcome.restarted) == ((), ())


def test_the_others_do_not_count_those_that_we_stopped():
    life = Life().up()
    life(exited(FIRST, 3), 4.0)
    life(exited(SECOND, 143, was_stopped=True), 5.0)
    assert life.outcome.others == ()


def test_a_failure_without_a_code_is_one_all_the_same():
    task = workers(1).tasks[0]
    failure = Outcome.of_failure(Ending(task, "", 0, "vanished", (), 0.0, "id"))
    assert (str(failure.error), failure.exit_code) == ("worker:0 vanished", 1)


def test_the_time_of_a_run_is_told_by_what_it_went_into():
    life = Life(restarts=RestartPolicy(3, "all"))
    life.up()
    life(exited(FIRST, 137), 5.0)
    assert life.state.phase is Phase.RESTARTING
    life(exited(SECOND, 143, was_stopped=True), 5.5)
    life(happened.Ticked(), 6.5)
    assert life.state.phase is Phase.STARTING
    life.now = 7.0
    life.place()
    life.register()
    for id in life.ids():
        life(happened.TaskReady(id), 8.0)
    for id in life.ids():
        life(exited(id, 0), 10.0)
    assert life.outcome.times == (
        ("finding the cluster", 1.0),
        ("waiting for places", 1.0),
        ("starting the tasks", 1.0),
        ("running", 2.0),
        ("stopping to start again", 1.5),
        ("launching again", 0.5),
        ("starting the tasks", 1.0),
        ("running", 2.0),
        ("stopping", 0.0),
    )
    assert [ending.code for ending in life.outcome.restarted] == [137]


def test_laps_of_one_name_that_follow_each_other_are_one():
    watch = Stopwatch(10.0)
    for what, now in (("a", 11.0), ("a", 13.0), ("b", 14.0), ("a", 15.5)):
        watch.lap(what, now)
    assert watch.laps == (("a", 3.0), ("b", 1.0), ("a", 1.5))


def test_an_outcome_shows_how_it_was():
    assert "succeeded" in repr(Outcome())
    assert "failed: got SIGINT" in repr(Outcome(error=Interrupted("got SIGINT", 130)))
