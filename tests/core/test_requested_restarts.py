"""The owner of a run has a task started again, whatever the policy says."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import PREVIOUS_PLACE_ONLY

from .life import FIRST, SECOND, Life, exited
from .restart_policies import said
from .run import HOST, Run, started


def request(run, name, elsewhere=False):
    return run(happened.RestartRequested(run.id(name), elsewhere))


@pytest.mark.parametrize("code", [0, 3, 143])
def test_a_task_is_ended_and_started_again_however_it_ends(code):
    run = Run(workers(2), servers(1), stop_grace=60.0).up()
    (stop,) = request(run, "worker:1")
    assert (stop.task_id, stop.grace) == ("run-worker-1-1", 60.0)
    todo = run.exit("worker:1", code)
    (text,) = said(todo)
    assert names(text, f"worker:1 on {HOST} exited with {code};", "again there")
    assert run.state.phase is Phase.RUNNING
    assert started(todo) == ["run-worker-1-2"]


@pytest.mark.parametrize("code", [0, 3, 143])
def test_for_a_while_only_its_previous_place_will_do(code):
    life = Life().up()
    life(happened.RestartRequested(SECOND, False))
    (place,) = only(do.Place, life(exited(SECOND, code), 10.0))
    (wanted,) = place.tasks
    previous = do.PreviousPlace(f"n-{SECOND}", 1, 10.0 + PREVIOUS_PLACE_ONLY)
    assert (wanted.previous_place, place.avoid, place.others_run) == (previous, {}, True)


def test_a_task_that_is_replaced_goes_to_another_node():
    life = Life().up()
    life(happened.RestartRequested(FIRST, True))
    todo = life(exited(FIRST, 143), 10.0)
    assert "starting it again on another node" in said(todo)[0]
    (place,) = only(do.Place, todo)
    assert [wanted.previous_place for wanted in place.tasks] == [None]
    assert list(place.avoid) == [f"n-{FIRST}"]


def test_a_requested_restart_is_not_counted_and_happens_once():
    run = Run(workers(2)).up()
    for _ in range(5):
        request(run, "worker:1")
        run.exit("worker:1", 0)
        run.back("worker:1")
    run.exit("worker:1", 3)
    assert run.state.phase is Phase.STOPPING


def test_a_run_is_not_over_while_its_last_worker_is_started_again():
    run = Run(workers(1)).up()
    request(run, "worker:0")
    run.exit("worker:0", 0)
    run.wait(5)
    assert run.outcome is None


@pytest.mark.parametrize("code", [0, 3])
def test_what_has_ended_is_not_started_again(code):
    run = Run(workers(2)).up()
    run.exit("worker:1", code)
    assert only(do.StopRunner, request(run, "worker:1")) == []
    assert run.state.members.why_not_restart(run.id("worker:1")) == "is not running"


def test_a_second_request_for_the_same_task_changes_nothing():
    run = Run(workers(2)).up()
    request(run, "worker:1")
    task_id, problem = run.state.members.to_restart("worker:1")
    assert task_id == "run-worker-1-1" and "worker:1" in problem and "already" in problem
    assert request(run, "worker:1", elsewhere=True) == []
    assert "starting it again there" in said(run.exit("worker:1", 0))[0]
    run.back("worker:1")
    assert run.state.members.to_restart("worker:1") == ("run-worker-1-2", "")
