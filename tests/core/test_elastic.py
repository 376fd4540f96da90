"""A job that asks for a range of tasks begins with as many as there is room for."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase

from .life import Life, exited, said
from .restart_policies import ALL, KILLED
from .test_generations import stopped, up_again


def waiting(*jobs, **rules):
    life = Life(*jobs, **rules)
    return life, life(happened.EngineReady())


def left_out(life, *names):
    ids = [m.task_id for m in life.state.members if m.task.name in names]
    return life(happened.TasksLeftOut(tuple(ids), "no room"))


def test_the_tasks_beyond_the_least_number_are_optional_and_no_others():
    _, (place,) = waiting(servers(1), workers("2:4"), elastic_hold=7.0)
    asked = {wanted.task.name: wanted.is_optional for wanted in place.tasks}
    assert asked == {
        **{"ps:0": False, "worker:0": False, "worker:1": False},
        **{"worker:2": True, "worker:3": True},
    }
    assert place.hold == 7.0


def test_a_run_begins_without_the_tasks_that_there_is_no_room_for():
    life, _ = waiting(workers("2:4"))
    ((text, level),) = said(left_out(life, "worker:2", "worker:3"))
    assert "2 of up to 4 worker" in text and "no room" in text and level == "warning"
    (start,) = up_again(life)
    assert start.cluster == {"worker": ["h:0", "h:1"]} and life.state.phase is Phase.RUNNING
    for task_id in life.ids():
        life(exited(task_id, 0))
    assert life.outcome.ok


def test_the_last_ones_that_were_waited_for_let_the_others_begin():
    life, _ = waiting(workers("1:2"))
    first = life.ids()[0]
    life(happened.TasksPlaced((happened.Placed(first, "n", "host"),)))
    life(happened.TaskRegistered(first, "h:1", 1))
    assert only(do.Start, left_out(life, "worker:1"))


def test_a_place_for_a_task_that_was_left_out_comes_too_late():
    life, _ = waiting(workers("1:2"))
    first, late = life.ids()
    left_out(life, "worker:1")
    life(happened.TasksPlaced((happened.Placed(late, "n", "host"),)))
    assert life.ids() == [first] and life.state.phase is Phase.STARTING


def test_the_next_generation_asks_for_all_of_them_again():
    life, _ = waiting(workers("2:4"), restarts=ALL)
    left_out(life, "worker:3")
    up_again(life)
    life(exited(life.ids()[2], KILLED))
    for task_id in life.ids()[:2]:
        life(exited(task_id, 143))
    todo = life(happened.Ticked(), life.now + 1)
    assert [len(place.tasks) for place in only(do.Place, todo)] == [4]
    left_out(life, "worker:2", "worker:3")
    (start,) = up_again(life)
    assert len(start.cluster["worker"]) == 2


def test_a_task_that_is_restarted_alone_is_needed():
    life = Life(workers("1:2"), restarts=ALL.replace(after_start="task")).up()
    life(exited(life.ids()[1], KILLED))
    (place,) = only(do.Place, life(happened.Ticked(), life.now + 1))
    assert [wanted.is_optional for wanted in place.tasks] == [False]
    assert left_out(life, "worker:1") == []


def test_a_run_that_updates_from_a_range_to_a_number_needs_them_all():
    life, _ = waiting(workers("2:4"))
    left_out(life, "worker:3")
    up_again(life)
    life(happened.UpdateRequested((workers(4),), ("worker: 3 -> 4",)))
    (place,) = only(do.Place, stopped(life))
    assert [wanted.is_optional for wanted in place.tasks] == [False] * 4
