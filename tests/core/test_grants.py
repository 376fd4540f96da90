"""Which restarts are granted, how often, and after which pauses."""

from tests.builders import workers
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core.actions import PreviousPlace
from tfmesos.core.endings import End
from tfmesos.core.restarts import (
    LONGEST_PAUSE,
    PREVIOUS_PLACE_ONLY,
    TRANSIENT_FOR,
    Restart,
    Restarts,
)
from tfmesos.core.tasks import Tasks


def an_end(at=0.0, code=137, index=0, **more):
    member = list(Tasks(workers(2).tasks, "run"))[index]
    return End(member, code, "failed", at, **more)


def pauses(restarts, ends, had_started=False):
    granted = [restarts.grant(end, had_started) for end in ends]
    return [restart and restart.pause for restart in granted]


def test_what_should_pass_is_waited_out_without_counting():
    restarts = Restarts(RestartPolicy(1, "never"))
    ends = [an_end(at, is_transient=True) for at in (10.0, 11.0, 13.0, 17.0, 25.0)]
    assert pauses(restarts, ends) == [1.0, 2.0, 4.0, 8.0, 8.0]
    assert restarts.grant(an_end(26.0, is_transient=True), False) == Restart(False, 0, 1, 8.0)


def test_what_does_not_pass_in_time_is_a_failure():
    restarts = Restarts(RestartPolicy(1, "never"))
    times = (10.0, 40.0, 10.0 + TRANSIENT_FOR, 10.5 + TRANSIENT_FOR)
    ends = [an_end(at, is_transient=True) for at in times]
    assert pauses(restarts, ends) == [1.0, 2.0, 4.0, None]


def test_another_time_and_another_task_begin_anew():
    restarts = Restarts(RestartPolicy(1, "never"))
    late = 10.0 + TRANSIENT_FOR
    ends = [an_end(at, is_transient=True) for at in (10.0, late, late + TRANSIENT_FOR + 0.1)]
    assert pauses(restarts, ends) == [1.0, 2.0, 1.0]
    other = an_end(late + TRANSIENT_FOR + 0.1, index=1, is_transient=True)
    assert restarts.grant(other, False).pause == 1.0


def test_once_started_nothing_is_passing():
    assert Restarts(RestartPolicy(1, "never")).grant(an_end(is_transient=True), True) is None


def test_a_saved_checkpoint_of_tensorflow_is_worth_a_restart_where_the_policy_restarts():
    granted = {policy: _granted(42, policy) for policy in ("never", "task", "all")}
    assert granted == {"never": False, "task": True, "all": True}
    assert not _granted(41, "task")


def _granted(code, policy):
    return Restarts(RestartPolicy(8, policy)).grant(an_end(code=code), True) is not None


def test_pauses_double_up_to_the_longest():
    ends = [an_end() for _ in range(9)]
    started = Restarts(RestartPolicy(8, "task"))
    longest = [16.0, *[LONGEST_PAUSE] * 3]
    assert pauses(started, ends, True) == [1.0, 2.0, 4.0, 8.0, *longest, None]
    starting = Restarts(RestartPolicy(8, "never"))
    assert pauses(starting, ends) == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, *[LONGEST_PAUSE] * 2, None]


def test_each_task_has_restarts_of_its_own_and_all_together_count_once():
    each = Restarts(RestartPolicy(1, "task"))
    assert each.grant(an_end(), True) == Restart(False, 1, 1, 1.0)
    assert each.grant(an_end(index=1), True) == Restart(False, 1, 1, 1.0)
    assert each.grant(an_end(), True) is None
    together = Restarts(RestartPolicy(2, "all"))
    assert together.grant(an_end(), False) == Restart(False, 1, 2, 0.0)
    assert together.grant(an_end(), True) == Restart(True, 1, 2, 1.0)
    assert together.grant(an_end(), False) == Restart(False, 1, 2, 0.0)  # who begins anew
    assert together.grant(an_end(index=1), True) == Restart(True, 2, 2, 2.0)
    assert together.grant(an_end(), True) is None


def test_a_restart_is_for_what_another_attempt_may_mend():
    restarts = Restarts(RestartPolicy(9, "task", codes=frozenset([137])))
    assert restarts.grant(an_end(code=137), True)
    assert restarts.grant(an_end(code=1), True) is None
    assert restarts.grant(an_end(code=1, is_lost=True), True)
    assert restarts.grant(an_end(is_hopeless=True), False) is None
    beside_us = an_end()
    beside_us.member.runs_here = True
    assert restarts.grant(beside_us, True) is None
    assert Restarts(RestartPolicy(9, "never")).grant(an_end(is_lost=True), True) is None


def test_a_restarted_task_is_wanted_where_it_was_unless_that_failed():
    restart = Restart(False, 1, 3, 2.0)
    end = an_end()
    end.member.node, end.member.port = "n", 7
    assert restart.previous_place(end, True, 10.0) == PreviousPlace(
        "n", 7, 12.0 + PREVIOUS_PLACE_ONLY
    )
    assert restart.previous_place(end, False, 10.0) is None
    assert restart.previous_place(end.replace(is_lost=True), True, 10.0) is None


def test_who_pauses_is_due_once_and_the_earliest_first():
    restarts = Restarts(RestartPolicy())
    first, second = Tasks(workers(2).tasks, "run")
    assert restarts.deadline is None
    restarts.schedule(first, 7.0)
    restarts.schedule(second, 5.0)
    assert (restarts.deadline, restarts.due(4.9)) == (5.0, [])
    assert (restarts.due(5.0), restarts.due(5.0), restarts.deadline) == ([second], [], 7.0)
    restarts.cancel()
    assert restarts.deadline is None
