"""A run that began with fewer tasks than it could use looks for room for more."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase

from .life import Life, said
from .restart_policies import ALL
from .test_elastic import left_out
from .test_generations import stopped, up_again

EVERY = 100.0


def small(*missing, every=EVERY):
    """A run of 2 to 4 workers that runs since 0, without those that are missing."""
    life = Life(workers("2:4"), servers(1), restarts=ALL, grow_every=every)
    life(happened.EngineReady())
    left_out(life, *missing)
    up_again(life)
    return life


def looked(life, at):
    return only(do.LookForRoom, life(happened.Ticked(), at))


def test_it_looks_for_room_for_all_of_them_whenever_the_time_has_come():
    life = small("worker:3")
    assert life.state.deadline == EVERY and looked(life, EVERY - 1) == []
    (look,) = looked(life, EVERY)
    assert [task.name for task in look.tasks] == [*(f"worker:{n}" for n in range(4)), "ps:0"]
    assert looked(life, 2 * EVERY - 1) == [] and len(looked(life, 2 * EVERY)) == 1


def test_it_begins_the_next_generation_with_more_when_there_is_room():
    life = small("worker:2", "worker:3")
    looked(life, EVERY)
    todo = life(happened.RoomSeen(4))
    ((text, _),) = said(todo)
    assert "room for 1 more task" in text and life.state.phase is Phase.RESTARTING
    assert len(only(do.StopRunner, todo)) == 3
    (begun,) = only(do.BeginGeneration, stopped(life))
    assert "room for 1 more task" in begun.why and not begun.is_restart
    left_out(life, "worker:3")
    (start,) = up_again(life)
    assert len(start.cluster["worker"]) == 3
    assert len(looked(life, life.now + EVERY)) == 1


def test_no_more_room_than_it_has_changes_nothing():
    life = small("worker:3")
    looked(life, EVERY)
    for room in (0, 3, 4):
        assert life(happened.RoomSeen(room)) == []
    assert life.state.phase is Phase.RUNNING


def test_a_run_that_is_complete_or_is_not_to_grow_does_not_look():
    for life in (small(), small("worker:3", every=None)):
        assert looked(life, 100 * EVERY) == []
        assert life(happened.RoomSeen(5)) == []


def test_a_run_that_is_ending_does_not_grow():
    life = small("worker:3")
    looked(life, EVERY)
    life(happened.StopRequested("stopped", 130))
    assert life(happened.RoomSeen(5)) == []


def grow_in_vain(life):
    life(happened.RoomSeen(5))
    stopped(life)
    left_out(life, "worker:3")
    up_again(life)


def test_it_looks_less_often_while_generations_do_not_become_larger():
    life = small("worker:3")
    times = []
    for _ in range(7):
        began = life.now
        looked(life, life.state.deadline)
        times.append(life.now - began)
        grow_in_vain(life)
    assert times == [EVERY * factor for factor in (1, 2, 4, 8, 16, 16, 16)]


def test_growth_counts_as_none_of_the_restarts_and_forgets_what_was_in_vain():
    life = small("worker:2", "worker:3")
    looked(life, EVERY)
    life(happened.RoomSeen(5))
    stopped(life)
    left_out(life, "worker:2", "worker:3")
    up_again(life)
    looked(life, life.now + 2 * EVERY)
    life(happened.RoomSeen(4))
    stopped(life)
    left_out(life, "worker:3")
    up_again(life)
    assert life.state.deadline == life.now + EVERY
