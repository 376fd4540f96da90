"""A run replayed from its events: what happened in, what is to be done out."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import an_offer, scalar, servers, workers
from tests.replay import Run, only
from tfmesos.config.constraints import Node
from tfmesos.config.job import Job, Resources
from tfmesos.config.launch import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import SECOND_REPORT, UNREACHABLE_GRACE
from tfmesos.core.phases import Phase
from tfmesos.core.stopping import STOP_MARGIN
from tfmesos.core.success import MIN_LIFE
from tfmesos.core.waiting import FIRST_NOTICE as FIRST_REPORT
from tfmesos.core.waiting import NOTICE_EVERY as EVERY
from tfmesos.core.waiting import REPEAT_AFTER as REPEAT
from tfmesos.errors import CANNOT_REACH_LAUNCHER, EVICTED, PORT_TAKEN
from tfmesos.mesos import actions as calls
from tfmesos.mesos import events as mesos
from tfmesos.mesos.feasibility import ASK_AFTER, ASK_EVERY, Holder, KnownAgent
from tfmesos.mesos.gang import HOLD, MEMORY
from tfmesos.mesos.reconciliation import AFTER_LAUNCH
from tfmesos.mesos.task_states import DRAINING


def test_the_whole_gang_is_launched_at_once_and_offers_are_suppressed_then():
    run = Run(workers(2), servers(1))
    run.subscribe()
    todo = run.offer(an_offer("o1", cpus=2), an_offer("o2", cpus=1), an_offer("o3"))
    launched = {a.hostname: [i for i, _ in a.seats] for a in only(calls.Launch, todo)}
    assert launched == {
        "host-of-o1": ["run-worker-0-1", "run-worker-1-1"],
        "host-of-o2": ["run-ps-0-1"],
    }
    assert only(calls.Decline, todo) == [calls.Decline(("o3",), 3600.0, "no task is waiting")]
    assert todo[-1] == calls.Suppress()


def test_nothing_is_launched_while_a_task_has_no_place():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    assert run.offer(an_offer("o1")) == []
    todo = run.offer(an_offer("o2"))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o1",), ("o2",)]


def test_offers_that_do_not_suffice_are_given_back_for_a_short_time():
    run = Run(workers(2, cpus=4), jitter=lambda: 0.25)
    run.subscribe()
    run.offer(an_offer("o1"))
    assert only(calls.Decline, run.wait(6)) == [
        calls.Decline(("o1",), 2.0, "not enough for every task")
    ]


def test_a_node_that_is_soon_taken_down_is_left_to_others_while_there_is_another_one():
    run = Run(workers(1))
    run.subscribe()
    todo = run.offer(an_offer("o1", down_in=600), an_offer("o2", down_in=2 * 3600))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o2",)]
    assert [decline.offer_ids for decline in only(calls.Decline, todo)] == [("o1",)]
    assert only(do.Say, todo) == []


def test_a_node_that_is_soon_taken_down_is_used_if_there_is_nothing_else_and_that_is_said():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    assert run.offer(an_offer("o1", down_in=600), an_offer("o2")) == []
    todo = run.wait(max(HOLD))
    assert [launch.offer_ids for launch in only(calls.Launch, todo)] == [("o2",), ("o1",)]
    (said,) = [one.text for one in only(do.Say, todo) if one.level == "warning"]
    assert said == (
        "host-of-o1 is to be taken down for maintenance in 10 min; worker:1 goes there all the "
        "same, for nothing else is free"
    )


def test_a_useless_offer_is_declined_at_once_for_long():
    run = Run(workers(1, gpus=1))
    run.subscribe()
    assert run.offer(an_offer("o1")) == [
        calls.Decline(("o1",), 3600.0, "too small for worker:0: gpus 0 < 1")
    ]


def test_a_rescinded_offer_is_not_used():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1"))
    run(mesos.OfferRescinded("o1"))
    assert only(calls.Launch, run.offer(an_offer("o2"))) == []


def test_offers_are_void_once_the_master_is_lost():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1"))
    run(mesos.Disconnected("connection reset"))
    run.subscribe()
    assert only(calls.Launch, run.offer(an_offer("o2"))) == []


def launched(run):
    """The ids of the tasks of this run, all placed and launched."""
    run.subscribe()
    (launch,) = only(calls.Launch, run.offer(an_offer("o1", cpus=64, mem=1e6)))
    return tuple(task_id for task_id, _ in launch.seats)


def test_a_launch_that_the_master_refuses_ends_the_run_at_once_with_its_reason():
    run = Run(workers(2))
    ids = launched(run)
    todo = run(mesos.CallRefused("ACCEPT", "413 Payload Too Large", ids))
    assert only(calls.KillTask, todo) == [], "what was not launched need not be killed"
    (finish,) = only(do.Finish, todo)
    assert str(finish.outcome.error) == "the master refused ACCEPT (413 Payload Too Large)"
    assert finish.outcome.error.exit_code == 69
    assert finish.outcome.unstopped == ()


def test_a_refused_launch_leaves_the_tasks_of_other_launches_to_be_killed():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    first, second = only(calls.Launch, run.offer(an_offer("o1"), an_offer("o2")))
    todo = run(mesos.CallRefused("ACCEPT", "400", (first.seats[0][0],)))
    assert [kill.task_id for kill in only(calls.KillTask, todo)] == [second.seats[0][0]]
    assert only(do.Finish, todo) == []
    assert only(do.Finish, run.update("worker:1", "TASK_KILLED"))


@pytest.mark.parametrize("call", ["DECLINE", "REVIVE"])
def test_a_call_without_which_no_offer_comes_ends_the_run_when_it_is_refused(call):
    run = Run(workers(2, cpus=4))
    run.subscribe()
    (finish,) = only(do.Finish, run(mesos.CallRefused(call, "401 Unauthorized")))
    assert str(finish.outcome.error) == f"the master refused {call} (401 Unauthorized)"


@pytest.mark.parametrize(
    "call", ["SUPPRESS", "KILL", "ACKNOWLEDGE", "RECONCILE", "DECLINE_INVERSE_OFFERS"]
)
def test_a_call_that_is_made_again_or_not_needed_is_only_told_of_when_it_is_refused(call):
    run = Run(workers(2))
    launched(run)
    todo = run(mesos.CallRefused(call, "501 Not Implemented"))
    assert todo == [do.Say(f"the master refused {call} (501 Not Implemented)", "warning")]


def test_a_launch_that_is_refused_while_the_run_stops_is_not_waited_for():
    run = Run(workers(1))
    ids = launched(run)
    assert only(do.Finish, run(happened.StopRequested("Ctrl-C", 130))) == []
    (finish,) = only(do.Finish, run(mesos.CallRefused("ACCEPT", "401", ids)))
    assert finish.outcome.error.exit_code == 130


def test_a_wait_says_what_it_is_for():
    run = Run(workers(2, cpus=4))
    said = only(do.Say, run.wait(FIRST_REPORT))
    run.subscribe()
    said += only(do.Say, run.wait(10))
    run.offer(an_offer("o1", cpus=6))
    said += only(do.Say, run.wait(10))
    assert {one.level for one in said} == {"notice"}
    assert [one.text for one in said] == [
        "waiting for the cluster",
        "0 of 2 tasks placed; worker:0 needs cpus 4, mem 1024; no offer seen that is big enough",
        "1 of 2 tasks placed; worker:1 needs cpus 4, mem 1024; missing 2 cpus; "
        "largest offer seen: cpus 6, mem 8192 on host-of-o1",
    ]


def test_the_same_words_are_repeated_seldom_and_new_ones_come_after_a_few_seconds():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    said = only(do.Say, run.wait(FIRST_REPORT + EVERY))
    assert len(said) == 1
    run.offer(an_offer("o1", cpus=6))
    assert [one.text[:1] for one in only(do.Say, run.wait(EVERY))] == ["1"]
    run = Run(workers(2, cpus=4))
    run.subscribe()
    assert len(only(do.Say, run.wait(FIRST_REPORT + REPEAT))) == 2


def test_a_wait_names_the_constraint_that_stands_in_its_way():
    run = Run(workers(3, constraints=["hostname:UNIQUE"]), servers(1, cpus=9))
    run.subscribe()
    run.offer(an_offer("o1", host="node-a"), an_offer("o2", host="node-b"))
    (said,) = only(do.Say, run.wait(FIRST_REPORT))
    assert said.text == (
        "2 of 4 tasks placed; worker:2: no further host for hostname:UNIQUE; "
        "hosts used: node-a, node-b; ps:0 needs cpus 9, mem 1024; missing 3 cpus; "
        "largest offer seen: cpus 4, mem 8192 on node-a"
    )


def test_a_wait_names_the_constraint_that_no_offer_meets():
    run = Run(workers(1, constraints=["rack:IS:r1"]))
    run.subscribe()
    declined = run.offer(an_offer("o1", rack="r2"), an_offer("o2", rack="r3"))
    assert declined == [calls.Decline(("o1", "o2"), 3600.0, "not for worker:0: rack:IS:r1")]
    (said,) = only(do.Say, run.wait(FIRST_REPORT))
    assert said.text == (
        "0 of 1 task placed; worker:0: no agent on offer meets rack:IS:r1 (rack: r2, r3)"
    )


def test_what_is_there_in_pieces_is_told_apart_from_what_is_missing():
    run = Run(workers(3, cpus=3, disk=10))
    run.subscribe()
    more = [scalar("disk", 100)]
    run.offer(*(an_offer(f"o{i}", cpus=4.5, more=more) for i in range(2)))
    (said,) = only(do.Say, run.wait(FIRST_REPORT))
    assert "2 of 3 tasks placed; worker:2 needs cpus 3, mem 1024, disk 10; no single" in said.text


def test_what_the_last_offers_were_worth_is_told_until_it_is_too_old():
    run = Run(workers(2, cpus=4))
    run.subscribe()
    run.offer(an_offer("o1", cpus=4))
    run.wait(max(HOLD) + 1)
    assert "1 of 2 tasks placed" in run.state.summary()
    run.wait(max(HOLD) + MEMORY)
    assert "0 of 2 tasks placed" in run.state.summary()
    assert "nothing that big is on offer now" in run.state.summary()


def test_a_task_launched_again_keeps_away_from_the_hosts_of_its_fellows():
    run = Run(workers(2, constraints=["hostname:UNIQUE"]))
    run.subscribe()
    run.offer(an_offer("o1", host="node-a"), an_offer("o2", host="node-b"))
    run.update("worker:1", "TASK_FAILED")
    (declined,) = run.offer(an_offer("o3", host="node-a"))
    assert declined.reason == "not for worker:1: hostname:UNIQUE"
    (launch,) = only(calls.Launch, run.offer(an_offer("o4", host="node-b")))
    assert launch.hostname == "node-b"


def test_the_master_is_asked_for_its_agents_only_when_there_is_no_place_at_once():
    run = Run(workers(1))
    run.subscribe()
    run.now = ASK_AFTER / 2
    run.offer()
    assert only(calls.CountAgents, run.wait(100)) == []
    run = Run(workers(1))
    run.subscribe()
    assert only(calls.CountAgents, run.wait(ASK_AFTER)) == [calls.CountAgents()]


def known(hostname, cpus):
    return KnownAgent(Node(hostname), Resources.of(cpus, 8192))


def test_what_can_never_be_placed_ends_the_run_with_the_numbers():
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.wait(ASK_AFTER)
    run(mesos.AgentsCounted((known("a", 2), known("b", 4))))
    assert run.outcome.exit_code == 75
    assert str(run.outcome.error) == (
        "this cannot be placed: worker:0 needs cpus 8, mem 1024; no agent has more than cpus 4 (b)"
    )


def test_a_wait_says_who_holds_what_and_for_how_long():
    run = Run(workers(1, cpus=4))
    run.subscribe()
    run.wait(ASK_AFTER)
    held = [(2.0, 40.0), (1.0, 720.0), (0.5, 3 * 3600.0), (0.1, 5 * 86400.0)]
    holders = [
        Holder(f"job {n}", "alice", Resources.of(cpus, 64), seconds)
        for n, (cpus, seconds) in enumerate(held)
    ]
    run(mesos.AgentsCounted((known("a", 8), known("b", 1)), tuple(holders)))
    (said,) = only(do.Say, run.wait(FIRST_REPORT))
    assert said.text == (
        "0 of 1 task placed; worker:0 needs cpus 4, mem 1024; no offer seen that is big enough, "
        "though 1 of 2 agents have that much: others use it now; held by "
        "'job 0' of alice (cpus 2, mem 64, for 40 s), "
        "'job 1' of alice (cpus 1, mem 64, for 12 min), "
        "'job 2' of alice (cpus 0.5, mem 64, for 3 h) and 1 more"
    )


@pytest.mark.parametrize("agents", [None, (), (known("a", 8),)])
def test_a_run_waits_when_nobody_tells_or_agents_are_large_enough(agents):
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.wait(ASK_AFTER)
    assert run(mesos.AgentsCounted(agents)) == []
    assert len(only(calls.CountAgents, run.wait(ASK_EVERY))) == 1


def test_what_was_placed_once_is_waited_for_even_if_an_agent_is_gone():
    run = Run(workers(1, cpus=8))
    run.subscribe()
    run.offer(an_offer(cpus=8))
    run.update("worker:0", "TASK_LOST")
    assert run(mesos.AgentsCounted((known("small", 1),))) == []


def test_tasks_that_do_not_report_are_named():
    run = Run(workers(2))
    run.subscribe()
    run.offer(an_offer("o1"))
    run.register("worker:1")
    said = [a.text for a in only(do.Say, run.wait(FIRST_REPORT))]
    assert said == ["waiting for worker:0 on host-of-o1 to report to the launcher"]


def test_everybody_is_told_of_everybody_when_the_last_one_has_registered():
    run = Run(workers(2), servers(1))
    run.subscribe()
    run.offer()
    assert only(do.Start, run.register("worker:1", "ps:0")) == []
    (start,) = only(do.Start, run.register("worker:0"))
    assert start.cluster == {
        "worker": ["10.0.0.1:4000", "10.0.0.1:4000"],
        "ps": ["10.0.0.1:4001"],
    }
    assert [task_id for task_id, _ in start.tasks] == [
        "run-worker-0-1",
        "run-worker-1-1",
        "run-ps-0-1",
    ]


def test_the_cluster_is_ready_when_every_command_runs():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register()
    assert run.ready("worker:0") == []
    (ready,) = run.ready("worker:1")
    assert isinstance(ready, do.AnnounceReady)


def test_a_task_may_end_well_before_the_others_have_begun():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register()
    run.ready("worker:0")
    assert run.exit("worker:0") == []
    run.ready("worker:1")
    run.exit("worker:1")
    assert run.outcome.ok


def test_the_run_succeeds_when_all_workers_have_and_the_ps_is_stopped():
    run = Run(workers(2), servers(1)).up()
    run.now = 60.0
    assert run.exit("worker:0") == []
    (stop,) = run.exit("worker:1")
    assert stop.task_id == run.id("ps:0")
    run.exit("ps:0", 143)
    assert run.outcome.ok and run.outcome.exit_code == 0


def test_without_any_ps_the_run_ends_with_its_workers():
    run = Run(workers(1), servers(0)).up()
    run.exit("worker:0")
    assert run.outcome.ok


def test_a_job_that_skips_indices_can_finish():
    run = Run(workers(3, start=1)).up()
    run.exit("worker:1")
    run.exit("worker:2")
    assert run.outcome.ok


def test_a_ps_that_has_hardly_begun_gets_a_moment():
    run = Run(workers(1), servers(1)).up()
    assert run.exit("worker:0") == []
    assert len(only(do.StopRunner, run.wait(MIN_LIFE))) == 1


def test_the_chief_decides_where_there_is_one():
    run = Run(Job("chief", 1, cmd="x"), workers(2)).up()
    run.now = 60.0
    assert len(only(do.StopRunner, run.exit("chief:0"))) == 2


def test_jobs_of_other_names_must_all_finish():
    run = Run(Job("a", 1, cmd="x"), Job("b", 1, cmd="x")).up()
    assert run.exit("a:0") == []
    run.exit("b:0")
    assert run.outcome.ok


def test_the_first_failure_is_the_cause_and_the_others_are_stopped():
    run = Run(workers(2), servers(1)).up()
    todo = run.exit("worker:1", 3)
    assert {a.task_id for a in only(do.StopRunner, todo)} == {run.id("worker:0"), run.id("ps:0")}
    run.exit("worker:0", 1)
    run.exit("ps:0", 143)
    assert str(run.outcome.error) == "worker:1 exited with 3 on host-of-o1"
    assert run.outcome.exit_code == 3
    assert run.outcome.cause.tail == ("last words",)
    assert [ending.task.name for ending in run.outcome.others] == ["worker:0", "ps:0"]


def test_tasks_that_we_stopped_ourselves_did_not_fail_after_the_cause():
    run = Run(workers(3), servers(2)).up()
    run.exit("worker:1", 3)
    stopped = happened.TaskExited(run.id("worker:0"), 143, "was killed", was_stopped=True)
    run(stopped)
    run(stopped.but(task_id=run.id("ps:0"), code=7, reason="exited with 7"))
    run.exit("worker:2", 1)
    run.update("ps:1", "TASK_KILLED", "Command terminated with signal Killed")
    run.wait(SECOND_REPORT)
    assert [ending.task.name for ending in run.outcome.others] == ["worker:2"]


DRAINED = "worker:0 was ended by its agent, which the operator is draining on host-of-o1"


def test_a_drained_agent_is_named_before_its_runner_has_told_of_the_end():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_KILLING", reason=DRAINING)
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert str(run.outcome.error) == DRAINED
    assert (run.outcome.exit_code, run.outcome.cause.tail) == (143, ("last words",))


def test_a_drained_agent_is_named_although_its_runner_was_faster_to_tell():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert run.outcome is None
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Terminated", DRAINING)
    assert str(run.outcome.error) == DRAINED
    assert run.outcome.cause.tail == ("last words",)


def test_a_task_that_its_agent_ended_is_told_of_even_if_mesos_says_nothing():
    run = Run(workers(1)).up()
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    run.wait(SECOND_REPORT)
    assert str(run.outcome.error).startswith("worker:0 was ended by its agent: it was killed by")


def test_a_task_of_a_drained_agent_is_worth_a_restart_elsewhere():
    run = Run(workers(1), restarts=RestartPolicy(after_start="task", codes=frozenset())).up()
    run.update("worker:0", "TASK_KILLING", reason=DRAINING)
    run.exit("worker:0", 143, f"{EVICTED}: it was killed by SIGTERM (signal 15)")
    assert calls.Revive() in run.wait(1)


def test_only_of_a_runner_that_answers_it_is_said_that_it_does():
    run = Run(workers(2)).up()
    (said,) = run.update("worker:0", "TASK_UNREACHABLE")
    assert said.text.endswith("is out of reach of the cluster; its runner answers")
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    (said,) = run.update("worker:1", "TASK_UNREACHABLE")
    assert said.text.endswith("is out of reach of the cluster, and its runner of the launcher")


def test_time_spent_on_launching_again_is_not_called_waiting_for_offers():
    run = Run(workers(1))
    for step in (
        run.subscribe,
        run.offer,
        lambda: run.update("worker:0", "TASK_FAILED"),
        run.offer,
        lambda: run.update("worker:0", "TASK_FAILED"),
        lambda: run.wait(1),
        run.offer,
        run.register,
        run.ready,
    ):
        run.now += 2.0
        step()
    run.exit("worker:0")
    assert run.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("launching again", 11.0),
        ("starting the tasks", 4.0),
        ("running", 0.0),
        ("stopping", 0.0),
    )


def test_a_failing_ps_fails_the_run():
    run = Run(workers(1), servers(1)).up()
    run.exit("ps:0", 1)
    run.exit("worker:0", 143)
    assert run.outcome.cause.task.name == "ps:0"


def test_a_server_that_ends_by_itself_has_failed():
    run = Run(Job("ps", 1)).up()
    run.exit("ps:0", 0)
    assert not run.outcome.ok


@pytest.mark.parametrize(
    "state", ["TASK_FAILED", "TASK_LOST", "TASK_GONE", "TASK_DROPPED", "TASK_ERROR", "TASK_KILLED"]
)
def test_a_task_that_mesos_ends_before_the_start_is_launched_again(state):
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    todo = run.update("worker:0", state, "no reason given")
    assert todo[-1] == calls.Revive() and "restart 1 of 3" in todo[0].text
    (launch,) = only(calls.Launch, run.offer())
    assert launch.seats[0][0] == "run-worker-0-2"


def test_a_task_launched_again_does_not_keep_its_old_address():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.register("worker:0")
    run.update("worker:0", "TASK_FAILED")
    run(happened.RunnerLost(run.id("worker:0"), "connection closed"))
    assert only(do.Start, run.register("worker:1")) == []
    run.offer()
    run.now += 1
    (start,) = only(do.Start, run(happened.TaskRegistered(run.id("worker:0"), "10.0.0.9:9", 9)))
    assert start.cluster["worker"][0] == "10.0.0.9:9"


def test_an_earlier_attempt_that_still_runs_is_killed():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    old = run.id("worker:0")
    run.update("worker:0", "TASK_LOST")
    run.offer()
    todo = run(mesos.TaskUpdated(old, "TASK_RUNNING", agent_id="a"))
    assert todo == [calls.KillTask(old, "a")]


def test_a_task_that_never_starts_fails_the_run_with_the_words_of_mesos():
    run = Run(workers(1))
    run.subscribe()
    for _ in range(1 + RestartPolicy().limit):
        run.offer()
        run.update("worker:0", "TASK_FAILED", "Failed to pull image", "REASON_X")
        run.wait(10)
    text = "worker:0 failed (Failed to pull image; REASON_X) on host-of-o1"
    assert str(run.outcome.error) == text
    assert len(only(calls.Launch, run.log)) == 4


def test_a_task_whose_interpreter_is_not_on_its_node_is_tried_on_another_one():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    assert calls.Revive() in run.update("worker:0", "TASK_FAILED", "Command exited with status 127")


def test_a_task_whose_interpreter_is_on_no_node_is_not_tried_again():
    run = Run(workers(1), nodes_alike=True)
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_FAILED", "Command exited with status 127")
    assert str(run.outcome.error) == "worker:0 exited with 127 on host-of-o1"
    assert len(only(calls.Launch, run.log)) == 1


def test_a_server_is_prepared_as_soon_as_it_registers():
    run = Run(Job("ps", 2))
    run.subscribe()
    run.offer()
    assert [a.task_id for a in only(do.Prepare, run.register("ps:0"))] == ["run-ps-0-1"]


def test_a_task_that_cannot_serve_fails_the_run_at_once():
    run = Run(Job("ps", 2))
    run.subscribe()
    run.offer()
    run.register("ps:0")
    run.exit("ps:0", 1, "cannot serve: no TensorFlow")
    run.update("ps:1", "TASK_KILLED")
    assert str(run.outcome.error) == "ps:0 cannot serve: no TensorFlow on host-of-o1"


def test_a_runner_that_could_not_have_its_port_gets_another_attempt():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    todo = run.exit("worker:0", PORT_TAKEN, "could not have port 31000")
    assert todo[-1] == calls.Revive()


def test_a_runner_that_could_not_reach_the_launcher_is_explained():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    message = f"Command exited with status {CANNOT_REACH_LAUNCHER}"
    (said, _) = run.update("worker:0", "TASK_FAILED", message)
    assert "launcher" in said.text


def test_the_runners_own_report_is_preferred_to_that_of_mesos():
    run = Run(workers(1)).up()
    assert run.update("worker:0", "TASK_FAILED", "Command exited with status 3") == []
    run.exit("worker:0", 3)
    assert run.outcome.cause.tail == ("last words",)


def test_without_a_word_of_the_runner_mesos_is_believed_after_a_moment():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FAILED", "Command terminated with signal Killed")
    run.wait(SECOND_REPORT)
    assert str(run.outcome.error) == "worker:0 was killed by SIGKILL (signal 9) on host-of-o1"
    assert run.outcome.exit_code == 137


@pytest.mark.parametrize("status", [256, 10**30])
def test_a_status_that_no_process_can_have_never_ends_a_run_well(status):
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_FINISHED", f"Command exited with status {status}")
    run.wait(SECOND_REPORT)
    assert run.outcome.exit_code == 1
    words = f"worker:0 ended (Command exited with status {status}) on host-of-o1"
    assert str(run.outcome.error) == words


def test_a_runner_that_is_lost_is_killed_and_fails_the_run():
    run = Run(workers(1)).up()
    todo = run(happened.RunnerLost(run.id("worker:0"), "connection reset"))
    assert only(calls.KillTask, todo)
    run.wait(SECOND_REPORT)
    text = "worker:0 lost touch with the launcher (connection reset) on host-of-o1"
    assert str(run.outcome.error) == text


def test_a_lost_runner_stays_the_cause_although_mesos_kills_its_task_then():
    run = Run(workers(1)).up()
    run(happened.RunnerLost(run.id("worker:0"), "nothing was heard of it for 20 s"))
    run.update("worker:0", "TASK_KILLING")
    run.update("worker:0", "TASK_KILLED", "Command terminated with signal Killed")
    assert "nothing was heard of it for 20 s" in str(run.outcome.error)


def test_a_task_that_mesos_calls_finished_before_the_start_is_launched_again():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    assert run.update("worker:0", "TASK_FINISHED")[-1] == calls.Revive()


def test_a_task_out_of_reach_may_come_back():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_UNREACHABLE")
    run.wait(UNREACHABLE_GRACE / 2)
    run.update("worker:0", "TASK_RUNNING")
    run.wait(UNREACHABLE_GRACE)
    assert run.outcome is None
    run.exit("worker:0")
    assert run.outcome.ok


def test_a_task_out_of_reach_goes_on_as_long_as_its_runner_is_heard():
    run = Run(workers(1)).up()
    run.update("worker:0", "TASK_UNREACHABLE")
    run.wait(100 * UNREACHABLE_GRACE)
    assert run.outcome is None
    run(happened.RunnerLost(run.id("worker:0"), "nothing was heard of it for 20 s"))
    assert "out of reach of the cluster and of the launcher" in str(run.outcome.error)


def test_a_task_out_of_reach_that_never_registered_is_launched_again():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_UNREACHABLE")
    assert calls.Revive() in run.wait(UNREACHABLE_GRACE)


def test_after_a_new_subscription_every_live_task_is_asked_for():
    run = Run(workers(2)).up()
    run.exit("worker:0")
    run.update("worker:0", "TASK_FINISHED")
    run(mesos.Disconnected("reset"))
    todo = run.subscribe()
    assert only(calls.Reconcile, todo) == [calls.Reconcile(((run.id("worker:1"), "agent-of-o1"),))]


def test_a_task_nobody_tells_of_is_asked_for_again_with_growing_pauses():
    run = Run(workers(2)).up()
    run.subscribe()
    run.update("worker:0", "TASK_RUNNING")
    asked = []
    for _ in range(8):
        run.now += 1.0
        asked += [(run.now, a.tasks) for a in only(calls.Reconcile, run.wait(0))]
    only_one = ((run.id("worker:1"), "agent-of-o1"),)
    assert asked == [(1.0, only_one), (3.0, only_one), (7.0, only_one)]
    run.update("worker:1", "TASK_RUNNING")
    assert only(calls.Reconcile, run.wait(100)) == []


def test_a_launched_task_of_which_nothing_is_heard_is_asked_for():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_STARTING")
    missing = calls.Reconcile(((run.id("worker:1"), "agent-of-o1"),))
    assert only(calls.Reconcile, run.wait(AFTER_LAUNCH - 1)) == []
    assert only(calls.Reconcile, run.wait(1)) == [missing]
    assert calls.Revive() in run.update("worker:1", "TASK_DROPPED", "Reconciliation: unknown")


def test_nobody_asks_for_tasks_that_are_heard_of():
    run = Run(workers(2)).up()
    assert only(calls.Reconcile, run.wait(10 * AFTER_LAUNCH)) == []


def test_an_operator_who_wants_a_node_back_is_told_that_we_stay():
    run = Run(workers(1)).up()
    said, declined = run(mesos.InverseOffersReceived(("i1",), ("agent-of-o1",)))
    assert "take down the node of worker:0" in said.text
    assert declined == calls.DeclineInverse(("i1",), 3600.0)


def test_the_start_timeout_reports_what_was_missing():
    run = Run(workers(1, gpus=1), start_timeout=5.0)
    run.subscribe()
    run.offer(an_offer())
    run.wait(5)
    assert run.outcome.exit_code == 75
    assert str(run.outcome.error) == (
        "not started after 5 s: 0 of 1 task placed; worker:0 needs cpus 1, mem 1024, gpus 1; "
        "missing 1 gpu; largest offer seen: cpus 4, mem 8192, gpus 0 on host-of-o1"
    )


def test_the_start_timeout_tells_why_there_is_no_master():
    run = Run(workers(1), start_timeout=5.0)
    trouble = "no Mesos master yet: http://m:5050: 503 Service Unavailable"
    assert run(mesos.MasterSought(trouble)) == [do.Say(trouble, "notice")]
    run.wait(5)
    assert run.outcome.exit_code == 69
    assert str(run.outcome.error) == f"not started after 5 s: {trouble}"


def test_tasks_that_do_not_register_in_time_are_killed_and_named():
    run = Run(workers(2), start_timeout=5.0)
    run.subscribe()
    run.offer()
    todo = run.wait(5)
    assert len(only(calls.KillTask, todo)) == 2
    run.update("worker:0", "TASK_KILLED")
    run.update("worker:1", "TASK_KILLED")
    assert run.outcome.exit_code == 124 and "worker:0 on host-of-o1" in str(run.outcome.error)


def test_a_stop_is_orderly_and_a_second_one_immediate():
    run = Run(workers(1)).up()
    assert only(do.StopRunner, run(happened.StopRequested("interrupted", 130)))
    assert run.outcome is None
    run(happened.StopRequested("interrupted", 130))
    assert run.outcome.exit_code == 130 and run.outcome.unstopped == ("worker:0",)


def test_a_task_that_does_not_stop_does_not_hold_the_run_up_for_ever():
    run = Run(workers(1)).up()
    run(happened.StopRequested("interrupted", 130))
    run.wait(30)
    assert run.outcome.unstopped == ("worker:0",)


@pytest.mark.parametrize("code, held_for", [(0, 60), (3, 60)])
def test_the_end_of_a_run_waits_for_output_that_has_not_been_taken(code, held_for):
    run = Run(workers(1), servers(1, cmd="serve")).up()
    run.wait(MIN_LIFE)
    run.exit("worker:0", code)
    end = run.now + held_for
    while run.now < end:
        run.now = run.deciders.deadline
        run(happened.Ticked(is_output_held=True))
    assert run.outcome is None
    run.wait(STOP_MARGIN)
    assert run.outcome.unstopped == ("ps:0",)


def test_an_interrupt_does_not_wait_for_output():
    run = Run(workers(1)).up()
    run(happened.StopRequested("interrupted", 130))
    run.now = run.deciders.deadline
    run(happened.Ticked(is_output_held=True))
    assert run.outcome.exit_code == 130


def test_a_runner_that_registers_while_the_run_ends_is_stopped():
    run = Run(workers(1))
    run.subscribe()
    run.offer()
    run(happened.StopRequested("interrupted", 130))
    (stop,) = run.register("worker:0")
    assert isinstance(stop, do.StopRunner)


def test_the_outcome_tells_where_the_time_went():
    run = Run(workers(1))
    for step in (run.subscribe, run.offer, run.register, run.ready, lambda: run.exit("worker:0")):
        run.now += 2.0
        step()
    assert run.outcome.times == (
        ("finding the cluster", 2.0),
        ("waiting for places", 2.0),
        ("starting the tasks", 4.0),
        ("running", 2.0),
        ("stopping", 0.0),
    )


IDS = [
    f"run-{job}-{index}-{attempt}"
    for job in ("worker", "ps")
    for index in (0, 1)
    for attempt in (1, 2, 3)
]
STATES = [
    "TASK_STAGING",
    "TASK_STARTING",
    "TASK_RUNNING",
    "TASK_FINISHED",
    "TASK_FAILED",
    "TASK_KILLED",
    "TASK_KILLING",
    "TASK_ERROR",
    "TASK_LOST",
    "TASK_DROPPED",
    "TASK_UNREACHABLE",
    "TASK_GONE",
    "TASK_GONE_BY_OPERATOR",
    "TASK_UNKNOWN",
    "TASK_OF_THE_FUTURE",
]
OFFERS = [an_offer("o1"), an_offer("o2"), an_offer("o3", cpus=0.1)]
ids = st.sampled_from([*IDS, "somebody-else"])
any_event = st.one_of(
    st.just(mesos.Subscribed("f", "m")),
    st.just(mesos.Disconnected("reset")),
    st.lists(st.sampled_from(OFFERS), max_size=3).map(
        lambda offers: mesos.OffersReceived(tuple(offers))
    ),
    st.sampled_from(["o1", "o2"]).map(mesos.OfferRescinded),
    st.builds(mesos.TaskUpdated, ids, st.sampled_from(STATES)),
    st.just(mesos.InverseOffersReceived(("i",), ("agent-of-o1",))),
    st.builds(mesos.AgentLost, st.sampled_from(["agent-of-o1", "x"])),
    st.builds(happened.TaskRegistered, ids, st.just("h"), st.just(1)),
    st.builds(happened.TaskReady, ids),
    st.builds(happened.TaskExited, ids, st.sampled_from([0, 0, 1, 137]), st.just("ended")),
    st.builds(happened.RunnerLost, ids, st.just("reset")),
    st.just(happened.StopRequested("stop", 130)),
    st.just(happened.Ticked()),
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=60), st.booleans())
def test_whatever_happens_in_whatever_order_a_run_can_always_be_ended(history, bare):
    run = Run(workers(2), Job("ps", 2) if bare else servers(2), start_timeout=100.0)
    for event, pause in history:
        run(event)
        run.now += pause
    run(happened.StopRequested("stop", 130))
    run.wait(30)
    assert run.state.phase is Phase.FINISHED and run.outcome is not None
    assert not any(only(calls.Launch, run(event)) for event, _ in history)


@settings(max_examples=200)
@given(st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=60))
def test_a_run_that_has_not_started_never_waits_longer_than_its_start_timeout(history):
    run = Run(workers(2), servers(2), start_timeout=100.0)
    for event, pause in history:
        run(event)
        run.wait(pause)
    run.wait(100 + 30)
    assert run.state.phase is not Phase.STARTING


@settings(max_examples=200)
@given(st.lists(any_event, max_size=60))
def test_a_deadline_that_was_served_is_not_due_again_at_once(history):
    run = Run(workers(2), servers(2))
    for event in history:
        run(event)
        for _ in range(20):
            if (due := run.deciders.deadline) is None or due > run.now:
                break
            run(happened.Ticked())
        else:
            pytest.fail("the clock would spin")
        run.now += 1.0
