"""How a restart is told, to the user and to the tasks."""

import pytest

from tests.replay import only
from tests.sentences import names
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.restarts import Restart
from tfmesos.core.stopping import KILL_GRACE

from .life import FIRST, SECOND, Life, exited, said


@pytest.mark.parametrize(
    "restart, words",
    [
        (Restart(True, 1, 3, 0.0), "all ... (restart 1 of 3)"),
        (Restart(False, 2, 3, 4.0), "it in 4 s (restart 2 of 3)"),
        (Restart(False, 0, 3, 8.0), "GPUs ... again in 8 s"),
    ],
)
def test_a_restart_is_told_in_words(restart, words):
    assert names(str(restart), *words.split(" ... "))


def test_a_restart_is_a_warning_and_all_are_told_why_they_are_stopped():
    life = Life(restarts=RestartPolicy(3, "all")).up()
    todo = life(exited(FIRST, 137, "was killed"), 4.0)
    ((text, level),) = said(todo)
    assert names(text, f"worker:0 on host-{FIRST} was killed;", "all tasks in 1 s (restart 1 of 3)")
    assert level == "warning"
    assert only(do.StopRunner, todo) == [
        do.StopRunner(SECOND, KILL_GRACE, "all tasks are being restarted", False)
    ]


def test_a_task_that_is_back_at_another_address_is_told_of():
    life = Life(restarts=RestartPolicy(3, "task")).up()
    life(exited(FIRST, 137, "was killed"), 4.0)
    life(happened.Ticked(), 5.0)
    life.place()
    again = "run-worker-0-2"
    todo = life(happened.TaskRegistered(again, "h:9", 9))
    ((text, level),) = said(todo)
    assert names(text, f"worker:0 is back on host-{again}", "h:9", "h:0") and level == "warning"
    (start,) = only(do.Start, todo)
    assert [task_id for task_id, _ in start.tasks] == [again]
    assert start.cluster == {"worker": ["h:9", "h:1"]}


def test_a_task_that_is_back_where_it_was_needs_no_more_words():
    life = Life(restarts=RestartPolicy(3, "task")).up()
    life(exited(FIRST, 137, "was killed"), 4.0)
    life(happened.Ticked(), 5.0)
    life.place()
    todo = life(happened.TaskRegistered("run-worker-0-2", "h:0", 0))
    assert said(todo) == [("worker:0 is back on host-run-worker-0-2", "warning")]
