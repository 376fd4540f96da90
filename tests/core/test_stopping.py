"""How a run is stopped: by its owner, by a time limit, by a failure."""

import pytest

from tests.builders import servers, workers
from tests.core.run import Run
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.stopping import STOP_MARGIN
from tfmesos.core.success import MIN_LIFE


def test_a_stop_is_orderly_and_a_second_one_immediate():
    run = Run(workers(1)).up()
    assert only(do.StopRunner, run(happened.StopRequested("interrupted", 130)))
    assert run.outcome is None
    run(happened.StopRequested("interrupted", 130))
    assert run.outcome.exit_code == 130 and run.outcome.unstopped == ("worker:0",)


def test_a_stop_after_a_failure_stays_orderly_until_a_second_one():
    run = Run(workers(2)).up()
    run.exit("worker:0", 7)
    (said,) = run(happened.StopRequested("interrupted", 130))
    assert said == do.Say("stopping worker:1; Ctrl-C again to kill", "notice")
    assert run.outcome is None
    run(happened.StopRequested("interrupted", 130))
    assert run.outcome.exit_code == 7 and run.outcome.unstopped == ("worker:1",)


@pytest.mark.parametrize("code", [74, 141, 143])
def test_only_an_interrupt_tells_what_another_one_does(code):
    (said,) = only(do.Say, Run(workers(1)).up()(happened.StopRequested("nobody reads", code)))
    assert said.text == "stopping worker:0"


def test_an_interrupt_after_a_failure_ends_the_wait_for_output():
    run = Run(workers(2)).up()
    run.exit("worker:0", 7)
    run.now = run.deciders.deadline
    run(happened.Ticked(is_output_held=True))
    run(happened.StopRequested("interrupted", 130))
    assert run.outcome is None
    run.now = run.deciders.deadline
    run(happened.Ticked(is_output_held=True))
    assert run.outcome.exit_code == 7


@pytest.mark.parametrize("has_finalizer, seconds", [(False, 7.0), (True, 12.0)])
def test_a_stop_leaves_time_to_kill_the_command_and_to_run_its_finalizer(has_finalizer, seconds):
    run = Run(workers(1), has_finalizer=has_finalizer).up()
    run(happened.StopRequested("interrupted", 130))
    run.wait(seconds - 0.1)
    assert run.outcome is None
    run.wait(0.1)
    assert run.outcome.unstopped == ("worker:0",)


def test_a_task_that_does_not_stop_does_not_hold_the_run_up_for_ever():
    run = Run(workers(1)).up()
    run(happened.StopRequested("interrupted", 130))
    run.wait(30)
    assert run.outcome.unstopped == ("worker:0",)


@pytest.mark.parametrize("code, held_for", [(0, 60), (3, 60)])
def test_the_end_of_a_run_waits_for_output_that_has_not_been_taken(code, held_for):
    run = Run(workers(1), servers(1, cmd="serve")).up()
    run.wait(MIN_LIFE)
    run.exit("worker:0", code)
    end = run.now + held_for
    while run.now < end:
        run.now = run.deciders.deadline
        run(happened.Ticked(is_output_held=True))
    assert run.outcome is None
    run.wait(STOP_MARGIN)
    assert run.outcome.unstopped == ("ps:0",)


def test_a_stop_by_its_owner_waits_for_output():
    run = Run(workers(1)).up()
    run(happened.StopRequested("left", 0))
    run.now = run.deciders.deadline
    run(happened.Ticked(is_output_held=True))
    assert run.outcome is None


def test_an_interrupt_does_not_wait_for_output():
    run = Run(workers(1)).up()
    run(happened.StopRequested("interrupted", 130))
    run.now = run.deciders.deadline
    run(happened.Ticked(is_output_held=True))
    assert run.outcome.exit_code == 130


def test_a_runner_that_registers_while_the_run_ends_is_stopped():
    run = Run(workers(1))
    run.place()
    run(happened.StopRequested("interrupted", 130))
    (stop,) = run.register("worker:0")
    assert isinstance(stop, do.StopRunner)


def test_the_grace_of_a_stop_can_be_given_with_it_and_shortened_later():
    run = Run(workers(1), stop_grace=60.0).up()
    (stop, said) = sorted(run(happened.StopRequested("enough", 130, 120.0)), key=repr, reverse=True)
    assert (stop.grace, said.text) == (120.0, "stopping worker:0; Ctrl-C again to kill")
    assert run.deciders.deadline == run.now + 120.0 + STOP_MARGIN
    (stop,) = run(happened.StopRequested("sooner", 0, 3.0))
    assert stop.grace == 3.0
    assert run.deciders.deadline == run.now + 3.0 + STOP_MARGIN
    run.wait(3.0 + STOP_MARGIN)
    assert run.outcome.exit_code == 130


def test_files_on_their_way_home_are_waited_for_until_a_second_interrupt():
    run = Run(workers(1)).up()
    run(happened.StopRequested("interrupted", 130))
    for _ in range(3):
        run.now = run.deciders.deadline
        run(happened.Ticked(is_output_held=True, is_bringing=True))
        assert run.outcome is None
    run(happened.StopRequested("interrupted", 130))
    assert run.outcome.unstopped == ("worker:0",)
