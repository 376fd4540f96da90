"""Tasks that write nothing: whom a run names, when, and when it takes them for hung."""

from tests.builders import workers
from tests.sentences import names
from tfmesos.core.events import Placed
from tfmesos.core.hangs import NOTICE, TOGETHER, Hangs
from tfmesos.core.tasks import Tasks

DUE = NOTICE + TOGETHER


def hangs(timeout=None):
    members = Tasks(workers(2).tasks, "run")
    for member in members:
        members.launch(Placed(member.task_id, "n", f"host-{member.task.index}"))
    return *members, Hangs(timeout, lambda: list(members))


def is_notice(ticked, who, minutes):
    """Is it the one word about this silence?"""
    (said,), error = ticked
    return error is None and said.level == "notice" and names(said.text, who, f"{minutes} min")


def test_a_silence_is_worth_a_word_when_it_has_been_long_and_then_ever_more_rarely():
    first, _, silence = hangs()
    assert silence.deadline is None
    silence.heard(first, 60.0, 100.0)
    assert silence.deadline == 40.0 + DUE
    assert silence.tick(40.0 + DUE - 0.1) == ([], None)
    assert is_notice(silence.tick(40.0 + DUE), "worker:0:", 5)
    assert silence.deadline == 40.0 + 2 * NOTICE + TOGETHER
    assert silence.tick(40.0 + 2 * NOTICE + TOGETHER - 0.1) == ([], None)
    assert is_notice(silence.tick(40.0 + 2 * NOTICE + TOGETHER), "worker:0:", 10)


def test_those_that_are_silent_long_enough_share_a_word():
    first, second, silence = hangs()
    silence.heard(first, 0.5, 0.5)
    silence.heard(second, 0.5, 0.5 + TOGETHER)
    assert is_notice(silence.tick(DUE), "worker:0, worker:1:", 5)


def test_one_that_was_named_is_not_named_again_with_another_that_is_due_first():
    first, second, silence = hangs()
    silence.heard(first, 0.5, 0.5)
    assert is_notice(silence.tick(DUE), "worker:0:", 5)
    silence.heard(second, 0.5, 60.5)
    (said,), _ = ticked = silence.tick(60.0 + DUE)
    assert is_notice(ticked, "worker:1:", 5) and "worker:0" not in said.text


def test_one_that_fell_silent_later_is_named_later():
    first, second, silence = hangs()
    silence.heard(first, 0.5, 0.5)
    silence.heard(second, 0.5, 1.5 + TOGETHER)
    (said,), _ = ticked = silence.tick(DUE)
    assert is_notice(ticked, "worker:0:", 5) and "worker:1" not in said.text


def test_who_writes_or_is_forgotten_begins_anew():
    first, _second, silence = hangs()
    for quiet in (lambda: silence.heard(first, 0, 400.0), lambda: silence.forget(first)):
        silence.heard(first, 0.5, 0.5)
        silence.tick(DUE)
        quiet()
        assert silence.deadline is None
        silence.heard(first, 0.5, 1000.5)
        assert silence.deadline == 1000.0 + DUE
        silence.forget(first)


def test_a_run_is_hung_when_the_last_of_all_has_been_silent_too_long():
    first, second, silence = hangs(20.0)
    silence.heard(first, 1.0, 6.0)
    assert silence.deadline == 5.0 + DUE
    assert silence.tick(30.0) == ([], None)  # the other one writes
    silence.heard(second, 1.0, 11.0)
    assert silence.deadline == 30.0
    assert silence.tick(29.9) == ([], None)
    (said,), error = silence.tick(30.0)
    assert said.level == "warning" and names(said.text, "worker:0, worker:1", "20 s")
    assert names(str(error), "no task", "20 s", "hung")
    assert error.exit_code == 124


def test_where_nobody_is_awaited_nobody_is_hung():
    silence = Hangs(1.0, list)
    assert silence.tick(100.0) == ([], None)
