"""Which tasks are started again, how often and when."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import PREVIOUS_PLACE_ONLY, TRANSIENT_FOR
from tfmesos.engines.local import actions as calls
from tfmesos.engines.local import events as local

from .histories import ids
from .life import FIRST, SECOND, Life, exited
from .restart_policies import ALL, KILLED, said
from .run import HOST, Run, started

TASK = RestartPolicy(after_start="task")


def test_after_the_start_nothing_is_restarted_unless_asked_for():
    run = Run(workers(2)).up()
    run.exit("worker:0", KILLED)
    assert run.state.phase is Phase.STOPPING


def test_a_killed_task_is_started_again_alone_at_its_old_address():
    run = Run(workers(2), servers(1), restarts=TASK).up()
    spec = run.state._cluster.spec
    todo = run.exit("worker:1", KILLED, "was killed by SIGKILL (signal 9)")
    (text,) = said(todo)
    assert f"worker:1 on {HOST} was killed by SIGKILL" in text and "(restart 1 of 3)" in text
    assert only(do.StopRunner, todo) == []
    ((seat,),) = [start.seats for start in only(calls.StartTasks, run.wait(1))]
    assert (seat.task_id, seat.port) == ("run-worker-1-2", 4001)
    todo = run(happened.TaskRegistered(seat.task_id, "10.0.0.1:4001", 4001))
    assert only(do.Start, todo) == [do.Start(((seat.task_id, seat.task),), spec)]
    assert said(todo)[-1] == f"worker:1 is back on {HOST}"
    run.ready("worker:1")
    run.exit("worker:0")
    run.exit("worker:1")
    run.exit("ps:0", 143)
    assert run.outcome.ok
    assert [end.task.name for end in run.outcome.restarted] == ["worker:1"]


def wanted_again(life, now):
    """The one task that a place is asked for when its pause is over."""
    (place,) = only(do.Place, life(happened.Ticked(), now))
    (wanted,) = place.tasks
    return wanted


def test_a_task_whose_old_place_does_not_come_back_takes_another_and_that_is_said():
    life = Life(restarts=TASK).up()
    life(exited(SECOND, KILLED), 10.0)
    wanted = wanted_again(life, 11.0)
    assert wanted.previous_place == do.PreviousPlace(f"n-{SECOND}", 1, 11.0 + PREVIOUS_PLACE_ONLY)
    life(happened.TasksPlaced((happened.Placed(wanted.task_id, "n", "other"),)), 30.0)
    (text,) = said(life(happened.TaskRegistered(wanted.task_id, "10.0.0.2:5000", 5000)))
    assert all(word in text for word in ("worker:1", "other", "10.0.0.2:5000", "h:1"))


def test_a_task_of_a_lost_node_does_not_wait_for_that_node():
    life = Life(restarts=TASK).up()
    life(happened.RunnerLost(FIRST, "silent for 20 s"), 10.0)
    life(happened.TaskEnded(FIRST, 1, "is gone with its node", is_lost=True), 11.0)
    assert wanted_again(life, 12.0).previous_place is None


@pytest.mark.parametrize("policy", [TASK, ALL])
def test_the_users_own_error_is_not_retried(policy):
    run = Run(workers(2), restarts=policy).up()
    run.exit("worker:0", 1)
    run.exit("worker:1", 143)
    assert run.outcome.exit_code == 1 and run.outcome.cause.task.name == "worker:0"


def test_which_codes_are_retried_can_be_said():
    codes = frozenset({7, 9})
    run = Run(workers(2), restarts=RestartPolicy(after_start="task", codes=codes)).up()
    assert "restarting it" in said(run.exit("worker:0", 7))[0]
    run.exit("worker:1", KILLED)
    assert run.outcome.exit_code == KILLED


def test_the_restarts_of_a_task_are_counted_and_their_pauses_grow():
    run = Run(workers(1), servers(1), restarts=RestartPolicy(limit=2, after_start="task")).up()
    pauses = []
    for _ in range(2):
        began = run.now
        run.exit("worker:0", KILLED)
        while not started(run.wait(0.5)):
            pass
        pauses.append(run.now - began)
        run.back("worker:0")
    run.exit("worker:0", KILLED)
    run.exit("ps:0", 143)
    assert pauses == [1.0, 2.0]
    assert run.outcome.exit_code == KILLED and len(run.outcome.restarted) == 2


def test_a_task_may_be_restarted_without_limit_and_the_pauses_stay_short():
    run = Run(workers(1), servers(1), restarts=RestartPolicy(inf, "task")).up()
    for _ in range(1100):
        todo = run.exit("worker:0", KILLED)
        run.wait(30)
        run.back("worker:0")
    assert said(todo)[0].endswith("in 30 s (restart 1100)")


def test_a_task_that_cannot_start_is_not_restarted_without_limit():
    run = Run(workers(1), restarts=RestartPolicy(inf, "task"))
    run.place()
    for _ in range(1 + int(RestartPolicy().limit)):
        run.gone("worker:0", is_lost=True)
        run.wait(30)
    assert not run.outcome.ok


def test_jobs_may_have_policies_of_their_own():
    chief = Job("chief", 1, cmd="x", retry_codes="128-255")
    ps = servers(1, restart_policy="task", restarts="unlimited", retry_codes="1-255")
    run = Run(chief, ps, restarts=TASK).up()
    for number in range(1, 6):
        todo = run.exit("ps:0", 1)
        assert said(todo)[0].endswith(f"(restart {number})")
        run.wait(30)
        run.back("ps:0")
    assert said(run.exit("chief:0", 128))[0].endswith("(restart 1 of 3)")
    run.wait(30)
    run.back("chief:0")
    run.exit("chief:0", 127)
    run.exit("ps:0", 143)
    assert run.outcome.exit_code == 127 and run.outcome.cause.task.name == "chief:0"


def test_before_the_start_the_first_restart_is_immediate_and_the_next_ones_are_not():
    run = Run(workers(1))
    run.place()
    waits = []
    for _ in range(3):
        todo = run.gone("worker:0", is_lost=True)
        began = run.now
        while not started(todo):
            todo = run.wait(0.5)
        waits.append(run.now - began)
    assert waits == [0.0, 1.0, 2.0]


def test_no_restarts_means_none_before_the_start_either():
    run = Run(workers(1), restarts=RestartPolicy(limit=0))
    run.place()
    run.gone("worker:0", is_lost=True)
    assert not run.outcome.ok


def test_a_restarted_task_that_finds_no_place_ends_the_run_at_the_start_timeout():
    life = Life(restarts=TASK, start_timeout=20.0).up()
    life(exited(SECOND, KILLED), 1000.0)
    life(happened.Ticked(), 1001.0)
    life(happened.Ticked(), 1019.9)
    assert life.state.phase is Phase.RUNNING
    life(happened.Ticked(), 1020.0)
    life(exited(FIRST, 143))
    assert life.outcome.exit_code == 75


events = st.one_of(
    st.just(local.MachineFound(HOST)),
    st.builds(local.TaskStarted, ids),
    st.builds(local.TaskGone, ids, st.just(1), st.just("was lost"), is_lost=st.just(True)),
    st.builds(happened.TaskUnreachable, ids),
    st.builds(happened.TaskRegistered, ids, st.just("h"), st.just(1)),
    st.builds(happened.TaskReady, ids),
    st.builds(happened.TaskExited, ids, st.sampled_from([0, 1, 137]), st.just("ended")),
    st.builds(happened.RunnerOutOfTouch, ids),
    st.builds(happened.RunnerBack, ids),
    st.builds(happened.RunnerLost, ids, st.just("reset")),
    st.just(happened.Ticked()),
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.lists(st.tuples(events, st.floats(0, 20)), max_size=80),
    st.sampled_from([TASK, ALL]),
    st.booleans(),
)
def test_whatever_happens_a_run_with_restarts_can_be_ended_and_its_clock_does_not_spin(
    history, policy, bare
):
    run = Run(workers(2), Job("ps", 2) if bare else servers(2), restarts=policy)
    for event, pause in history:
        run(event)
        run.wait(pause)
        due = run.deciders.deadline
        assert due is None or due > run.now
    run(happened.StopRequested("stop", 130))
    run.wait(30)
    assert run.state.phase is Phase.FINISHED and run.outcome is not None


def not_yet(run):
    """Its node has not freed yet what the task needs."""
    busy = happened.TaskEnded(run.id("worker:0"), 1, "found no free GPU", is_transient=True)
    return run(busy)


def test_what_an_ended_task_still_holds_is_waited_for_and_costs_no_restart():
    run = Run(workers(1), restarts=RestartPolicy(limit=0))
    run.place()
    for pause in (1, 2, 4, 8):
        (text,) = said(not_yet(run))
        assert f"worker:0 on {HOST} found no free GPU" in text and f"in {pause} s" in text
        assert len(started(run.wait(pause))) == 1
    run.back()
    run.exit("worker:0")
    assert run.outcome.ok


def test_what_is_not_freed_within_a_minute_is_the_failure():
    run = Run(workers(1))
    run.place()
    while run.outcome is None and run.now < 300:
        not_yet(run)
        run.wait(10)
    assert TRANSIENT_FOR <= run.now <= TRANSIENT_FOR + 20
    assert "found no free GPU" in str(run.outcome.error)
