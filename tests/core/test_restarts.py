"""Which tasks are started again, how often and when."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import an_offer, ports, servers, workers
from tests.replay import Run, only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import PREVIOUS_PLACE_ONLY, TRANSIENT_FOR
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos

from .restart_policies import ALL, KILLED, said

TASK = RestartPolicy(after_start="task")


def test_after_the_start_nothing_is_restarted_unless_asked_for():
    run = Run(workers(2)).up()
    run.exit("worker:0", KILLED)
    assert run.state.phase is Phase.STOPPING


def test_a_killed_task_is_started_again_alone_at_its_old_address():
    run = Run(workers(2), servers(1), restarts=TASK)
    run.subscribe()
    whole = an_offer("o1", agent="a", cpus=8, more=[ports((31000, 31009))])
    run.offer(whole)
    run.register()
    run.ready()
    told = run.state._cluster.spec["worker"][1]
    todo = run.exit("worker:1", KILLED, "was killed by SIGKILL (signal 9)")
    assert said(todo) == [
        "worker:1 on host-of-o1 was killed by SIGKILL (signal 9); "
        "restarting it in 1 s (restart 1 of 3)"
    ]
    assert only(do.StopRunner, todo) == []
    assert run.wait(1) == [calls.Revive()]
    port = int(told.rpartition(":")[2])
    elsewhere = an_offer("o2", agent="b", more=[ports((port, port))])
    assert only(calls.Launch, run.offer(elsewhere)) == []
    back = an_offer("o3", agent="a", more=[ports((port - 1, port + 1))])
    todo = run.offer(back)
    (launch,) = only(calls.Launch, todo)
    ((task_id, seat),) = launch.seats
    assert (task_id, seat.port, launch.offer_ids) == ("run-worker-1-2", port, ("o3",))
    assert [d.offer_ids for d in only(calls.Decline, todo)] == [("o2",)]
    assert todo[-1] == calls.Suppress()
    todo = run(happened.TaskRegistered(task_id, f"10.0.0.1:{port}", port))
    assert only(do.Start, todo) == [do.Start(((task_id, seat.task),), run.state._cluster.spec)]
    assert said(todo)[-1] == "worker:1 is back on host-of-o3"
    run.ready("worker:1")
    run.exit("worker:0")
    run.exit("worker:1")
    run.exit("ps:0", 143)
    assert run.outcome.ok
    assert [end.task.name for end in run.outcome.restarted] == ["worker:1"]


def test_a_task_whose_old_place_does_not_come_back_takes_another_and_that_is_said():
    run = Run(workers(2), restarts=TASK).up()
    run.exit("worker:1", KILLED)
    run.wait(1 + PREVIOUS_PLACE_ONLY)
    (launch,) = only(calls.Launch, run.offer(an_offer("o2")))
    todo = run(happened.TaskRegistered(launch.seats[0][0], "10.0.0.2:5000", 5000))
    assert said(todo)[-1] == (
        "worker:1 is back on host-of-o2, at 10.0.0.2:5000; the others look for it at 10.0.0.1:4001"
    )


def test_a_task_of_a_lost_node_does_not_wait_for_that_node():
    run = Run(workers(2), restarts=TASK).up()
    run(happened.RunnerLost(run.id("worker:1"), "nothing was heard of it for 20 s"))
    run.update("worker:1", "TASK_GONE")
    run.wait(1)
    assert only(calls.Launch, run.offer(an_offer("o2")))


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
        while calls.Revive() not in run.wait(0.5):
            pass
        pauses.append(run.now - began)
        run.offer()
        run.register("worker:0")
        run.ready("worker:0")
    run.exit("worker:0", KILLED)
    run.exit("ps:0", 143)
    assert pauses == [1.0, 2.0]
    assert run.outcome.exit_code == KILLED and len(run.outcome.restarted) == 2


def test_a_task_may_be_restarted_without_limit_and_the_pauses_stay_short():
    run = Run(workers(1), servers(1), restarts=RestartPolicy(inf, "task")).up()
    for _ in range(1100):
        todo = run.exit("worker:0", KILLED)
        run.wait(30)
        run.offer()
        run.register("worker:0")
        run.ready("worker:0")
    assert said(todo)[0].endswith("; restarting it in 30 s (restart 1100)")


def test_a_task_that_cannot_start_is_not_restarted_without_limit():
    run = Run(workers(1), restarts=RestartPolicy(inf, "task"))
    run.subscribe()
    for _ in range(1 + int(RestartPolicy().limit)):
        run.offer()
        run.update("worker:0", "TASK_LOST")
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
        run.offer()
        run.register("ps:0")
        run.ready("ps:0")
    assert said(run.exit("chief:0", 128))[0].endswith("(restart 1 of 3)")
    run.wait(30)
    run.offer()
    run.register("chief:0")
    run.ready("chief:0")
    run.exit("chief:0", 127)
    run.exit("ps:0", 143)
    assert run.outcome.exit_code == 127 and run.outcome.cause.task.name == "chief:0"


def test_before_the_start_the_first_restart_is_immediate_and_the_next_ones_are_not():
    run = Run(workers(1))
    run.subscribe()
    waits = []
    for _ in range(3):
        run.offer()
        todo = run.update("worker:0", "TASK_LOST")
        began = run.now
        while calls.Revive() not in todo:
            todo = run.wait(0.5)
        waits.append(run.now - began)
    assert waits == [0.0, 1.0, 2.0]


def test_no_restarts_means_none_before_the_start_either():
    run = Run(workers(1), restarts=RestartPolicy(limit=0))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_LOST")
    assert not run.outcome.ok


def test_a_restarted_task_that_finds_no_place_ends_the_run_at_the_start_timeout():
    run = Run(workers(2), restarts=TASK, start_timeout=20.0).up()
    run.wait(1000)
    run.exit("worker:1", KILLED)
    run.wait(19)
    assert run.outcome is None
    run.wait(20)
    assert run.outcome.exit_code == 75


IDS = [f"run-{job}-{i}-{n}" for job in ("worker", "ps") for i in (0, 1) for n in (1, 2, 3, 4)]


ids = st.sampled_from(IDS)


states = st.sampled_from(["TASK_RUNNING", "TASK_LOST", "TASK_GONE"])


events = st.one_of(
    st.just(mesos.Subscribed("f", "m")),
    st.just(mesos.OffersReceived((an_offer("o1"), an_offer("o2")))),
    st.builds(mesos.TaskUpdated, ids, states),
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


NO_GPU_YET = "Failed to launch container: Requested 1 gpus but only 0 available"


def no_gpu_yet(run):
    run.offer()
    return run.update("worker:0", "TASK_FAILED", NO_GPU_YET, "REASON_CONTAINER_LAUNCH_FAILED")


def test_gpus_that_an_ended_task_still_holds_are_waited_for_and_cost_no_restart():
    run = Run(workers(1), restarts=RestartPolicy(limit=0))
    run.subscribe()
    for pause in (1, 2, 4, 8):
        todo = no_gpu_yet(run)
        assert said(todo) == [
            f"worker:0 on host-of-o1 failed ({NO_GPU_YET}; REASON_CONTAINER_LAUNCH_FAILED) before "
            f"the cluster started; its GPUs are not free yet: trying again in {pause} s"
        ]
        assert calls.Revive() in run.wait(pause)
    run.offer()
    run.register()
    run.ready()
    run.exit("worker:0")
    assert run.outcome.ok


def test_gpus_that_are_not_freed_within_a_minute_are_the_failure():
    run = Run(workers(1))
    run.subscribe()
    while run.outcome is None and run.now < 300:
        no_gpu_yet(run)
        run.wait(10)
    assert TRANSIENT_FOR <= run.now <= TRANSIENT_FOR + 20
    assert NO_GPU_YET in str(run.outcome.error)


def test_an_agent_that_is_still_freeing_gpus_is_not_left_alone():
    run = Run(workers(1))
    run.subscribe()
    run.offer(an_offer("o1", agent="a"))
    run.update("worker:0", "TASK_FAILED", NO_GPU_YET)
    run.wait(1)
    run.offer(an_offer("o2", agent="a"), an_offer("o3", agent="b"))
    run.update("worker:0", "TASK_FAILED", NO_GPU_YET)
    run.wait(2)
    (launch,) = only(calls.Launch, run.offer(an_offer("o4", agent="a")))
    assert launch.agent_id == "a"
