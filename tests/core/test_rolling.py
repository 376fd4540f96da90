"""A rolling update: one task after the other is started again with other settings."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.generations.rolling import PLACED_WITHIN, SETTLED_AFTER
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import PREVIOUS_PLACE_ONLY

from .life import Life, exited, said
from .restart_policies import ALL, KILLED

NEW = {"mem": 2048.0}


def rolling(*jobs):
    return happened.UpdateRequested(jobs, ("worker.mem: 1024 -> 2048",), is_rolling=True)


def up(number=3, **options):
    return Life(workers(number), **options).up()


def begun(number=3, **options):
    life = up(number, **options)
    life(rolling(workers(number, **NEW)))
    return life


def stopped(todo):
    return [stop.task_id for stop in only(do.StopRunner, todo)]


def end(life, number, code=143, **more):
    return life(exited(life.ids()[number], code, **more))


def back(life, number, address=None):
    """Let the task find a place, register and run."""
    task_id = life.ids()[number]
    todo = [*life.place()]
    todo += life(happened.TaskRegistered(task_id, address or f"h:{number}", number))
    return [*todo, *life(happened.TaskReady(task_id))]


def settle(life):
    return life(happened.Ticked(), life.now + SETTLED_AFTER)


def mems(life):
    return [member.task.job.mem for member in life.state.members]


def roll(life, number):
    """Let this task be started again, and run for long enough."""
    end(life, number)
    back(life, number)
    return settle(life)


def fail_twice(life, number, code=3):
    """The task that is being updated; it runs again after that."""
    end(life, number)
    back(life, number)
    end(life, number, code)
    life(happened.Ticked(), life.now + 1)
    back(life, number)
    todo = end(life, number, code)
    back(life, number)
    return todo


def test_each_task_is_started_again_at_its_address_when_the_one_before_has_run_for_a_while():
    life = up(2)
    todo = life(rolling(workers(2, **NEW)))
    (begun,) = only(do.BeginRolling, todo)
    assert (begun.why, begun.tasks) == ("worker.mem: 1024 -> 2048", ("worker:0", "worker:1"))
    assert stopped(todo) == ["run-worker-0-1"]
    (place,) = only(do.Place, end(life, 0))
    (wanted,) = place.tasks
    assert (wanted.task_id, wanted.task.job.mem) == ("run-worker-0-2", 2048)
    assert (wanted.previous_place.node, wanted.previous_place.port) == ("n-run-worker-0-1", 0)
    assert only(do.StopRunner, back(life, 0)) == []
    assert life(happened.Ticked(), life.now + SETTLED_AFTER - 0.1) == []
    assert stopped(settle(life)) == ["run-worker-1-1"]
    (done,) = only(do.EndRolling, roll(life, 1))
    assert (done.problem, done.jobs[0].mem, mems(life)) == ("", 2048, [2048, 2048])
    assert life.state.generations.number == 0 and life.state.phase is Phase.RUNNING


def test_only_those_are_started_again_that_the_update_changes():
    life = Life(workers(2), servers(1)).up()
    todo = life(rolling(workers(2), servers(1, **NEW)))
    assert stopped(todo) == ["run-ps-0-1"]
    assert only(do.EndRolling, roll(life, 2))


def test_a_rolling_update_can_be_undone_by_another_one():
    life = begun(1)
    roll(life, 0)
    old = life.state.generations.previous
    assert old[0].mem == 1024
    life(rolling(*old))
    assert only(do.EndRolling, roll(life, 0)) and mems(life) == [1024]
    assert life.state.generations.previous[0].mem == 2048


def test_it_counts_as_none_of_the_restarts():
    life = begun(1, restarts=ALL.replace(limit=1))
    roll(life, 0)
    assert "restart 1 of 1" in said(end(life, 0, KILLED))[0][0]


def test_a_task_that_ends_well_is_not_started_again():
    life = begun(3)
    life(exited(life.ids()[2], 0))
    roll(life, 0)
    assert only(do.EndRolling, roll(life, 1))


def test_the_success_of_a_task_that_was_changed_is_the_success_of_the_run():
    life = begun(1)
    roll(life, 0)
    end(life, 0, 0)
    assert life.outcome.ok


def test_a_task_that_fails_once_is_started_again_at_its_address():
    life = begun()
    end(life, 0)
    back(life, 0)
    todo = end(life, 0, 3)
    assert names(said(todo)[0][0], "worker:0", "again, updated, a second time")
    (place,) = only(do.Place, life(happened.Ticked(), life.now + 1))
    assert place.tasks[0].previous_place.node == "n-run-worker-0-2"  # where it was placed
    assert stopped([*back(life, 0), *settle(life)]) == ["run-worker-1-1"]


@pytest.mark.parametrize("policy", [{}, {"restarts": ALL}])
def test_a_task_that_fails_twice_is_as_before_and_the_update_stops(policy):
    life = begun(**policy)
    roll(life, 0)
    todo = fail_twice(life, 1, KILLED)
    (stop,) = only(do.EndRolling, todo)
    assert stop.jobs[0].mem == 1024
    assert names(stop.problem, "worker:1 failed twice (failed)", "worker:0 has", "--back")
    assert names(said(todo)[0][0], "as it was before the update")
    assert only(do.StopRunner, settle(life)) == []
    assert mems(life) == [2048, 1024, 1024] and life.outcome is None


def test_after_the_update_has_stopped_a_failure_is_one_as_any_other():
    life = begun(2)
    fail_twice(life, 0)
    end(life, 0, 3)
    assert life.state.phase is Phase.STOPPING


def test_an_update_of_which_nothing_is_left_has_nothing_to_go_back_to():
    life = begun()
    fail_twice(life, 0)
    assert mems(life) == [1024] * 3
    assert life.state.generations.earlier == ()


def test_who_goes_back_after_a_stop_has_those_started_again_that_were_changed():
    life = begun(2)
    roll(life, 0)
    end(life, 1)
    life.place()
    life(exited(life.ids()[1], 1, "has no such image"))
    old = life.state.generations.earlier
    assert old[0].mem == 1024 and life.state.generations.latest[0].mem == 2048
    back(life, 1)
    todo = life(rolling(*old))
    assert stopped(todo) == [life.ids()[0]]
    assert only(do.EndRolling, roll(life, 0)) and mems(life) == [1024, 1024]
    assert life.state.generations.earlier == ()


def test_what_cannot_start_before_it_registers_fails_no_run():
    life = begun(2)
    end(life, 0)
    life.place()
    todo = life(exited(life.ids()[0], 127, "has no such program"))
    (stop,) = only(do.EndRolling, todo)
    assert names(stop.problem, "worker:0 failed", "has no such program", "as before")
    back(life, 0)
    assert mems(life) == [1024, 1024] and life.outcome is None


@pytest.mark.parametrize(
    "event, after",
    [(happened.Impossible("no such node"), 0), (happened.Ticked(), PLACED_WITHIN)],
)
def test_a_task_that_finds_no_place_at_its_address_is_as_before(event, after):
    life = begun(2)
    end(life, 0)
    life(happened.Waiting(0, "mem 1024 < 2048"))
    todo = life(event, life.now + after)
    (stop,) = only(do.EndRolling, todo)
    assert "worker:0" in stop.problem and ("no such node" in stop.problem or "mem" in stop.problem)
    (place,) = only(do.Place, todo)
    (wanted,) = place.tasks
    assert wanted.task.job.mem == 1024
    assert wanted.previous_place.until == life.now + PREVIOUS_PLACE_ONLY
    back(life, 0)
    assert settle(life) == [] and life.outcome is None


def test_a_task_that_does_not_start_in_time_is_ended_and_as_before():
    life = begun(2, start_timeout=30.0)
    end(life, 0)
    life.place()
    todo = life(happened.Ticked(), life.now + 30)
    assert only(do.EndRolling, todo) and do.Kill(life.ids()[0]) in todo
    ended = happened.TaskEnded(life.ids()[0], 137, "was killed", was_killed=True)
    (place,) = only(do.Place, life(ended))
    assert place.tasks[0].task.job.mem == 1024 and life.state.phase is Phase.RUNNING


def test_a_task_that_comes_back_elsewhere_stops_the_update():
    life = begun(2)
    end(life, 0)
    back(life, 0, address="other:1")
    (stop,) = only(do.EndRolling, settle(life))
    assert names(stop.problem, "worker:0 was at h:0 and is at other:1", "--back")
    assert mems(life) == [2048, 1024]


def test_a_lost_node_is_no_failure_of_the_update():
    life = begun(2)
    roll(life, 0)
    life(happened.TaskEnded(life.ids()[0], 1, "its node is gone", is_lost=True))
    life(happened.Ticked(), life.now + 60)
    assert life.state.phase is Phase.STOPPING


def test_when_all_are_started_again_all_are_updated():
    life = begun(2, restarts=ALL)
    end(life, 0)
    back(life, 0)
    life(exited(life.ids()[1], KILLED))
    todo = life(exited(life.ids()[0], 143))
    todo += life(happened.Ticked(), life.now + 60)
    (begin,) = only(do.BeginGeneration, todo)
    assert begin.jobs[0].mem == 2048 and life.state.generations.previous[0].mem == 1024
    assert only(do.StopRunner, life(happened.Ticked(), life.now + 60)) == []


@pytest.mark.parametrize("is_rolling", [True, False])
def test_one_that_goes_on_can_be_undone_but_not_changed(is_rolling):
    life = begun(3)
    roll(life, 0)
    other = life(rolling(workers(3, mem=4096.0)))
    assert other == [] and "--back" in life.state.generations.why_not_update(Phase.RUNNING)
    old = happened.UpdateRequested((workers(3),), ("back",), is_rolling)
    todo = life(old)
    if not is_rolling:
        assert life.state.phase is Phase.RESTARTING
        return
    assert todo and only(do.StopRunner, todo) == []  # the second one is being stopped
    assert mems(life) == [2048, 1024, 1024]
    assert stopped(roll(life, 1)) == [life.ids()[0]]
    assert only(do.EndRolling, roll(life, 0)) and mems(life) == [1024] * 3


def test_one_that_waits_for_a_place_is_undone_by_asking_for_the_old_one():
    life = begun(2)
    end(life, 0)
    (place,) = only(do.Place, life(rolling(workers(2))))
    assert place.tasks[0].task.job.mem == 1024
    back(life, 0)
    assert only(do.EndRolling, settle(life))


def test_one_that_fails_before_it_can_be_changed_back_is_started_as_the_old_one():
    life = begun(2)
    end(life, 0)
    life.place()
    life(rolling(workers(2)))
    todo = end(life, 0, 1)
    assert only(do.EndRolling, todo) == []
    assert [wanted.task.job.mem for wanted in only(do.Place, todo)[0].tasks] == [1024]
    back(life, 0)
    assert only(do.EndRolling, settle(life))


def test_one_that_cannot_be_changed_back_can_be_tried_again():
    life = begun(2)
    roll(life, 0)
    fail_twice(life, 1)
    life(rolling(workers(2)))
    assert only(do.EndRolling, fail_twice(life, 0)) and mems(life) == [2048, 1024]
    generations = life.state.generations
    assert (generations.earlier[0].mem, generations.latest[0].mem) == (1024, 2048)


def test_a_failure_of_an_earlier_update_does_not_count():
    life = begun(1)
    end(life, 0)
    for number in (1, 2):
        back(life, 0)
        todo = end(life, 0, 3)
        assert "a second time" in said(todo)[0][0]
        life(happened.Ticked(), life.now + 1)
        back(life, 0)
        assert only(do.EndRolling, settle(life))
        life(rolling(workers(1, mem=4096.0 * number)))
        end(life, 0)


def test_it_waits_for_a_task_that_is_held():
    life = begun(2)
    end(life, 0)
    back(life, 0)
    life(happened.TaskHeld(life.ids()[0], "exited with 3"))
    assert settle(life) == []
    life(happened.ContinueRequested())
    assert "a second time" in said(end(life, 0, 3))[0][0]


def test_a_task_that_is_as_before_has_the_start_timeout_before_it():
    life = begun(2, start_timeout=PLACED_WITHIN + 5)
    end(life, 0)
    life(happened.Ticked(), life.now + PLACED_WITHIN)
    life(happened.Ticked(), life.now + 6)
    assert life.state.phase is Phase.RUNNING


def test_it_waits_for_a_task_that_its_owner_has_started_again():
    life = up(2)
    life(happened.RestartRequested(life.ids()[1], False))
    assert stopped(life(rolling(workers(2, **NEW)))) == []
    end(life, 1)
    assert stopped(back(life, 1)) == [life.ids()[0]]


def test_a_run_whose_tasks_do_not_run_yet_is_not_updated_so():
    life = Life(workers(2))
    life(happened.EngineReady())
    assert life(rolling(workers(2, **NEW))) == []
    why = life.state.generations.why_not_update(life.state.phase, is_rolling=True)
    assert "not running yet" in why and "--rolling" in why


def test_a_stop_in_the_middle_ends_the_run():
    life = begun(2)
    life(happened.StopRequested("interrupted", 130))
    end(life, 0)
    end(life, 1)
    assert life.outcome.exit_code == 130


def test_a_later_failure_is_not_reported_with_the_restarts_of_a_rolling_update():
    life = begun(2)
    roll(life, 0)
    end(life, 1)
    back(life, 1)
    end(life, 1, 3)  # its first failure is no plan
    life(happened.Ticked(), life.now + 1)
    back(life, 1)
    assert only(do.EndRolling, settle(life))
    end(life, 0, 7)
    end(life, 1)
    assert life.outcome.exit_code == 7
    assert [(one.task.name, one.code) for one in life.outcome.restarted] == [("worker:1", 3)]
