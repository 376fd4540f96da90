"""Nodes on which tasks keep failing are left alone."""

from tests.builders import workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.avoided_nodes import AVOIDED_FOR, AvoidedNodes

from .life import Life


def fail_on(life, node, now):
    """The task is placed there and cannot start; what the engine is asked for then."""
    (task_id,) = life.ids()
    life(happened.TasksPlaced((happened.Placed(task_id, node, "host"),)), now)
    todo = life(happened.TaskEnded(task_id, 1, "failed (no python3 there)"), now)
    todo += life(happened.Ticked(), now + 4.0)  # after its pause
    (place,) = only(do.Place, todo)
    return dict(place.avoid)


def test_a_node_where_tasks_keep_failing_to_start_is_to_be_avoided_for_a_while():
    life = Life(workers(1))
    life(happened.EngineReady())
    assert fail_on(life, "bad", 10.0) == {}
    assert fail_on(life, "bad", 20.0) == {"bad": 20.0 + AVOIDED_FOR}
    assert fail_on(life, "other", 30.0) == {"bad": 20.0 + AVOIDED_FOR}


def test_a_node_that_will_be_able_to_take_the_task_in_a_moment_is_not_avoided():
    life = Life(workers(1))
    life(happened.EngineReady())
    for now in (10.0, 20.0, 30.0):
        (task_id,) = life.ids()
        life(happened.TasksPlaced((happened.Placed(task_id, "busy", "host"),)), now)
        life(happened.TaskEnded(task_id, 1, "has no free GPU", is_transient=True))
        (place,) = only(do.Place, life(happened.Ticked(), now + 9.0))
        assert place.avoid == {}


def test_a_node_is_left_alone_after_two_failures_in_a_row():
    nodes = AvoidedNodes()
    nodes.failed("n", 1.0)
    nodes.worked("n")
    nodes.failed("n", 2.0)
    assert nodes.until == {}
    nodes.failed("n", 3.0)
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}
    nodes.failed("n", 40.0)
    nodes.worked("another")
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}
