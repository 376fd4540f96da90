"""A check that fails on every node in the same way is explained once."""

from __future__ import annotations

from tests.builders import workers
from tfmesos.core import events as happened
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.errors import NODE_UNFIT
from tfmesos.launcher.screen.failure_report import failure_report

from .life import Life, said

REASON = "was not started; the check of its node exited with 2: 'no such disk'"
OTHER = "was not started; the check of its node exited with 1: 'no such card'"


def unfit(life, number, reason, now):
    todo = life(happened.TaskExited(life.ids()[number], NODE_UNFIT, reason, ()), now)
    return "".join(text for text, _ in said(todo))


def test_each_distinct_reason_is_said_once_and_every_restart_is_said():
    life = Life()
    life(happened.EngineReady(), 1.0)
    life.place()
    first = unfit(life, 0, REASON, 2.0)
    second = unfit(life, 1, REASON, 3.0)
    life.place()
    third = unfit(life, 0, OTHER, 4.0)
    fourth = unfit(life, 1, REASON, 5.0)
    assert "worker:0" in first and "no such disk" in first and "restart 1 of 3" in first
    assert "worker:1" in second and "no such disk" not in second and "restart 1 of 3" in second
    assert "same reason" in second
    assert "no such card" in third and "restart 2 of 3" in third
    assert "no such disk" not in fourth and "restart 2 of 3" in fourth


def ending(number, reason, code=NODE_UNFIT):
    task = workers(5).tasks[number]
    return Ending(task, f"node-{number}", code, reason, (), 5.0, f"run-{number}")


def test_the_report_says_each_distinct_reason_once():
    cause, *others = (ending(n, reason) for n, reason in enumerate((REASON, REASON, OTHER, OTHER)))
    failed = Outcome.of_failure(cause).replace(others=tuple(others))
    first, last = failure_report(failed)
    assert first.count("no such disk") == 1
    assert "no such disk" not in last and last.count("no such card") == 1
    assert last.count("for the same reason") == 2


def test_other_ends_are_told_of_each_task_in_full():
    cause, other = ending(0, "exited with 3", 3), ending(1, "exited with 3", 3)
    assert (
        "worker:1 (exited with 3)"
        in failure_report(Outcome.of_failure(cause).replace(others=(other,)))[-1]
    )
