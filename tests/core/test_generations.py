"""The next generation of a run: the same run with another shape."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN

from .life import Life, exited, said
from .restart_policies import ALL, KILLED


def to(*jobs):
    return happened.UpdateRequested(jobs, ("it changes",))


def stopped(life):
    """Let all tasks end as they are told to."""
    todo = []
    for task_id in life.ids():
        todo += life(exited(task_id, 143, was_stopped=True))
    return todo


def up_again(life):
    life.place()
    started = life.register()
    for task_id in life.ids():
        life(happened.TaskReady(task_id))
    return only(do.Start, started)


def test_an_update_stops_everybody_and_starts_the_new_shape_with_a_fresh_cluster_spec():
    life = Life(workers(2), servers(1)).up()
    todo = life(to(workers(4), servers(1)))
    assert [stop.task_id for stop in only(do.StopRunner, todo)] == life.ids()
    assert only(do.BeginGeneration, todo) == [] and "it changes" in said(todo)[0][0]
    (begun, place) = stopped(life)[-2:]
    assert (begun.number, [job.size for job in begun.jobs]) == (1, [4, 1])
    assert "it changes" in begun.why and not begun.is_restart
    assert [wanted.task.name for wanted in place.tasks] == [
        *(f"worker:{n}" for n in range(4)),
        "ps:0",
    ]
    (start,) = up_again(life)
    assert {job: len(found) for job, found in start.cluster.items()} == {"worker": 4, "ps": 1}
    for task_id in life.ids()[:4]:
        life(exited(task_id, 0))
    life(happened.Ticked(), life.now + 1)
    stopped(life)
    assert life.outcome.ok


def test_no_attempt_has_the_id_of_another_when_a_task_goes_and_comes_back():
    life = Life(workers(2)).up()
    seen = set(life.ids())
    for shape in (1, 2, 3):
        life(to(workers(shape)))
        stopped(life)
        assert len(life.ids()) == shape and not seen & set(life.ids())
        seen |= set(life.ids())
        up_again(life)


def test_an_update_counts_as_none_of_the_restarts():
    life = Life(workers(1), restarts=ALL.replace(limit=1)).up()
    for number in (1, 2, 3):
        life(to(workers(number)))
        stopped(life)
        up_again(life)
    todo = life(exited(life.ids()[0], KILLED))
    assert "restart 1 of 1" in said(todo)[0][0]


def test_the_tasks_of_the_new_shape_decide_about_success():
    life = Life(workers(2)).up()
    life(to(workers(1)))
    stopped(life)
    up_again(life)
    life(exited(life.ids()[0], 0))
    assert life.outcome.ok


def test_a_run_that_still_waits_for_places_asks_for_the_new_shape():
    life = Life(workers(8))
    life(happened.EngineReady())
    todo = life(to(workers(2)))
    assert only(do.StopPlacing, todo)
    assert [len(place.tasks) for place in only(do.Place, todo)] == [2]


def test_an_update_while_all_are_restarted_changes_what_is_started():
    life = Life(workers(2), restarts=ALL).up()
    life(exited(life.ids()[1], KILLED))
    assert only(do.StopRunner, life(to(workers(3)))) == []
    life(exited(life.ids()[0], 143))
    (begun,) = only(do.BeginGeneration, life(happened.Ticked(), life.now + 1))
    assert begun.jobs[0].num == 3


def test_a_task_that_does_not_stop_does_not_hold_up_the_next_generation():
    life = Life(workers(1)).up()
    (old,) = life.ids()
    life(to(workers(1)))
    todo = life(happened.Ticked(), life.now + KILL_GRACE + STOP_MARGIN)
    assert do.Refuse(old) in todo and do.Kill(old) in todo
    assert only(do.BeginGeneration, todo)
    assert life(exited(old, 1)) == [] and life.state.phase is Phase.STARTING


@pytest.mark.parametrize(
    "before, problem",
    [(happened.StopRequested("stopped", 130), "ending"), (to(workers(3)), "being updated")],
)
def test_a_run_that_is_ending_or_being_updated_is_not_updated(before, problem):
    life = Life(workers(2)).up()
    life(before)
    assert problem in life.state.generations.why_not_update(life.state.phase)
    assert life(to(workers(4))) == []


def test_a_stop_during_an_update_ends_the_run():
    life = Life(workers(2)).up()
    life(to(workers(4)))
    life(happened.StopRequested("interrupted", 130))
    stopped(life)
    assert life.outcome.exit_code == 130


def test_the_shape_before_the_last_update_is_kept_through_restarts_of_all():
    life = Life(workers(2), restarts=ALL).up()
    assert life.state.generations.previous == ()
    life(to(workers(3)))
    stopped(life)
    up_again(life)
    life(exited(life.ids()[0], KILLED))
    stopped(life)
    life(happened.Ticked(), life.now + 60)
    assert life.state.generations.number == 2
    assert [job.size for job in life.state.generations.previous] == [2]
