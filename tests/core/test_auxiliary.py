"""A TensorBoard stands by: the run goes on whatever becomes of it, and it may stay."""

import pytest

from tests.builders import servers, workers
from tests.core.run import Run
from tests.replay import only
from tests.sentences import names
from tfmesos.config.tensorboard import RESTARTS, with_board
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import LONGEST_PAUSE
from tfmesos.core.success import MIN_LIFE

WHERE = "http://10.0.0.1:4002"


def with_tensorboard(**rules):
    return Run(*with_board([workers(1), servers(1)], "/logs"), **rules)


def said(todo):
    return [action.text for action in only(do.Say, todo)]


def test_its_address_is_said_and_it_is_no_part_of_the_cluster():
    run = with_tensorboard().up()
    assert f"TensorBoard is at {WHERE}" in said(run.log)
    (ready,) = only(do.AnnounceReady, run.log)
    assert set(ready.cluster) == {"worker", "ps"}


def test_the_run_is_ready_and_ends_without_waiting_for_it():
    run = with_tensorboard()
    run.place(), run.register(), run.ready("worker:0", "ps:0")
    assert len(only(do.AnnounceReady, run.log)) == 1
    run.now = 60.0
    run.exit("worker:0")
    assert len(only(do.StopRunner, run.wait(MIN_LIFE))) == 2
    run.exit("ps:0", 143), run.exit("tensorboard:0", 143)
    assert run.outcome.ok


def test_it_is_started_again_a_few_times_and_then_the_run_goes_on_without_it():
    run = with_tensorboard(start_timeout=1000.0).up()
    for _ in range(3):
        assert "restarting it" in said(run.exit("tensorboard:0", 1))[0]
        run.wait(LONGEST_PAUSE)
        run.register("tensorboard:0"), run.ready("tensorboard:0")
    (text,) = said(run.exit("tensorboard:0", 1))
    assert names(text, "tensorboard:0 on here exited with 1 (last words)", "without it")
    assert run.state.phase is Phase.RUNNING
    run.now += 60
    run.exit("worker:0"), run.exit("ps:0", 143)
    assert run.outcome.ok


def test_its_last_line_is_said_once_as_long_as_it_is_the_same():
    run = with_tensorboard(start_timeout=1000.0).up()
    for shown in (" (last words);", " 1;"):
        (text,) = said(run.exit("tensorboard:0", 1))
        assert text.startswith(f"tensorboard:0 on here exited with 1{shown.removeprefix(' 1')}")
        run.wait(LONGEST_PAUSE)
        run.register("tensorboard:0"), run.ready("tensorboard:0")
    exited = happened.TaskExited(run.id("tensorboard:0"), 1, "exited with 1", ("no space",))
    assert "exited with 1 (no space); restarting it" in said(run(exited))[0]


def test_one_that_is_not_installed_is_not_started_again():
    run = with_tensorboard().up()
    (text,) = said(run.exit("tensorboard:0", 127))
    assert names(text, "tensorboard:0 on here exited with 127 (last words)", "without it")
    assert "pip install tensorboard" in text
    assert run.wait(LONGEST_PAUSE) == [] and run.state.phase is Phase.RUNNING


def test_its_end_is_no_consequence_of_a_failure():
    run = with_tensorboard().up()
    run.exit("tensorboard:0", 127)
    run.now = 60.0
    run.exit("worker:0", 7), run.exit("ps:0", 0)
    assert run.outcome.exit_code == 7 and run.outcome.others == ()


def test_one_that_cannot_be_placed_again_does_not_end_the_run():
    run = with_tensorboard(start_timeout=5.0).up()
    run.exit("tensorboard:0", 1)
    run.wait(100)
    assert run.state.phase is Phase.RUNNING and run.outcome is None


def test_the_others_start_without_one_that_cannot_start():
    run = with_tensorboard()
    run.place(), run.register("worker:0", "ps:0")
    for _ in range(RESTARTS + 1):
        run(happened.TaskExited(run.id("tensorboard:0"), 1, "exited with 1"))
        run.wait(LONGEST_PAUSE)
    (start,) = only(do.Start, run.log)
    assert [task.name for _, task in start.tasks] == ["worker:0", "ps:0"]
    assert set(start.cluster) == {"worker", "ps"}


@pytest.mark.parametrize(
    ("code", "how"), [(0, "the run has succeeded"), (7, "worker:0 exited with 7 on")]
)
def test_it_stays_until_somebody_ends_it_and_the_outcome_is_that_of_the_run(code, how):
    run = with_tensorboard(tensorboard_stays=True).up()
    run.now = 60.0
    stops = only(do.StopRunner, run.exit("worker:0", code))
    assert [stop.task_id for stop in stops] == [run.id("ps:0")]
    (text,) = said(run.exit("ps:0", 143))
    assert text.startswith(how)
    assert names(text, "TensorBoard stays", WHERE, "Ctrl-C", "tfrun stop")
    assert run.wait(10_000) == [] and run.deciders.deadline is None
    (stop,) = only(do.StopRunner, run(happened.StopRequested("interrupted", 0)))
    assert stop.task_id == run.id("tensorboard:0")
    run.exit("tensorboard:0", 143)
    assert run.outcome.exit_code == code


def test_one_that_does_not_answer_yet_stays_too_and_is_announced_when_it_does():
    run = with_tensorboard(tensorboard_stays=True)
    run.place(), run.register(), run.ready("worker:0", "ps:0")
    assert not any("TensorBoard" in text for text in said(run.log))
    run.now = 60.0
    run.exit("worker:0"), run.wait(MIN_LIFE)
    (text,) = said(run.exit("ps:0", 143))
    assert "TensorBoard is starting and stays" in text and WHERE not in text
    assert run.state.phase is Phase.STAYING
    assert said(run.ready("tensorboard:0")) == [f"TensorBoard is at {WHERE}"]


def test_one_that_ends_while_it_stays_ends_the_run():
    run = with_tensorboard(tensorboard_stays=True).up()
    run.now = 60.0
    run.exit("worker:0"), run.exit("ps:0", 143)
    run.exit("tensorboard:0", 1)
    assert run.outcome.ok


def test_a_run_that_is_interrupted_leaves_nothing():
    run = with_tensorboard(tensorboard_stays=True).up()
    assert len(only(do.StopRunner, run(happened.StopRequested("interrupted", 130)))) == 3
