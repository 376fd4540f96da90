"""What is due is done, all of it and in order."""

from tfmesos.core import events as happened
from tfmesos.core.clocks import Clocks

from .life import FIRST, SECOND, Life, said


def test_the_earliest_time_counts_and_what_is_due_is_done_in_order():
    times = {"a": 5.0, "b": None, "c": 3.0}
    clocks = Clocks(*((lambda k=k: times[k], lambda now, k=k: [(k, now)]) for k in times))
    assert clocks.deadline == 3.0
    assert clocks.tick(2.9) == []
    assert clocks.tick(3.0) == [("c", 3.0)]
    assert clocks.tick(9.0) == [("a", 9.0), ("c", 9.0)]
    assert Clocks().deadline is None


def test_two_ends_that_are_due_together_are_both_dealt_with():
    life = Life()
    life(happened.EngineReady())
    life.place()
    for task_id in (FIRST, SECOND):
        life(happened.TaskUnreachable(task_id), 1.0)
    assert len(said(life(happened.Ticked(), 100.0))) == 3  # a restart of each, and the wait
