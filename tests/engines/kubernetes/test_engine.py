"""Whole runs, decided by the lifecycle and the engine from what a genuine server said."""

import pytest

from tests.builders import servers, workers
from tests.engines.kubernetes.runs import Run
from tests.sentences import begins, names
from tfmesos.config.job import Job, Resources
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import events as happened
from tfmesos.core.actions import StopRunner
from tfmesos.core.phases import Phase
from tfmesos.engines.kubernetes import events as kubernetes
from tfmesos.engines.kubernetes.events import NodeRoom
from tfmesos.engines.kubernetes.pod_status import PodSeen
from tfmesos.errors import EngineError


def test_all_pods_are_made_at_once_and_the_run_starts_when_all_have_registered():
    run = Run(workers(2), servers(1))
    assert run.made() == [["worker-0", "worker-1", "ps-0"]]
    run.scheduled("worker-0", "worker-1", "ps-0")
    run.running("worker-0", "worker-1", "ps-0")
    run.register("worker:0", "worker:1")
    assert run.state.phase is Phase.STARTING
    run.register("ps:0")
    assert run.state.phase is Phase.RUNNING


def test_a_task_that_registers_before_the_others_are_placed_is_not_forgotten():
    run = Run(workers(2))
    run.running("worker-0")
    run.register("worker:0")
    run.wait(20)
    run.running("worker-1")
    run.register("worker:1")
    assert run.state.phase is Phase.RUNNING


def test_jobs_whose_names_differ_in_case_only_have_different_pods():
    run = Run(Job("a_B", 1, cmd="true"), Job("A_b", 1, cmd="true"))
    assert run.made() == [["a-b-0", "a-b-0-2"]]


def test_the_words_of_the_scheduler_are_said_within_seconds():
    run = Run(workers(2))
    run.scheduled("worker-0")
    run.crowded("worker-1")
    run.wait(4)
    assert names(run.said()[-1], "1 of 2 tasks placed", "worker:1: 3 Insufficient cpu")
    assert run.state.summary().endswith("3 Insufficient cpu")


def test_a_list_that_was_taken_before_a_pod_was_made_does_not_delete_it():
    run = Run(workers(2))
    run.scheduled("worker-0")
    run(kubernetes.PodsListed((PodSeen("worker-0", node="node-1"),)))
    assert run.deleted() == []
    run.crowded("worker-1")
    run(kubernetes.PodsListed((PodSeen("worker-0", node="node-1"),)))
    assert run.deleted() == ["worker-0", "worker-1"]


def test_pods_that_the_scheduler_has_not_looked_at_are_told():
    run = Run(workers(2))
    run.wait(4)
    assert names(run.said()[-1], "0 of 2 tasks placed", "worker:0, worker:1:", "scheduler")


def test_our_numbers_stand_beside_the_words_where_nodes_may_be_listed():
    run = Run(workers(1, gpus=2))
    run.crowded("worker-0")
    run(kubernetes.NodesCounted((NodeRoom("big", Resources.of(8, 64000, 1)),)))
    run.wait(4)
    needs = "worker:0 needs cpus 1, mem 1024, gpus 2"
    assert names(run.said()[-1], needs, "big", "cpus 8, mem 64000, gpus 1")
    run(kubernetes.NodesCounted(None))
    run.wait(40)
    assert "needs" not in run.said()[-1]


def test_unschedulable_is_no_end_by_itself():
    run = Run(workers(1)).play("unschedulable-gpu", "worker-0")
    run.wait(3600)
    assert run.outcome is None
    assert any("2 Insufficient nvidia.com/gpu" in text for text in run.said())


def test_a_quota_that_is_used_up_is_waited_for():
    run = Run(workers(2))
    error = EngineError("exceeded quota: used: pods=9, limited: pods=10")
    run(kubernetes.PodsRefused(error, is_quota=True))
    run.wait(5)
    assert run.outcome is None and len(run.made()) == 2
    assert "exceeded quota" in " ".join(run.said())


def test_pods_that_the_server_does_not_take_end_the_run_with_its_words():
    run = Run(workers(2))
    run(kubernetes.PodsRefused(EngineError("spec.containers[0].image: Required value")))
    assert str(run.outcome.error) == "spec.containers[0].image: Required value"


# Ends

ENDS = [
    ("reason-signalled", 139, "was killed by SIGSEGV (signal 11)"),
    ("reason-oom-killed", 137, "was killed: out of memory (its limit is 1024 MiB)"),
    ("reason-oom-not-noticed", 137, "was killed by SIGKILL (signal 9)"),
    ("reason-deadline", 1, "was ended: ... (activeDeadlineSeconds)"),
]


@pytest.mark.parametrize(("recording", "code", "words"), ENDS, ids=lambda value: str(value)[:24])
def test_the_end_of_a_pod_is_told_in_words(recording, code, words):
    run = Run(workers(1), restarts=RestartPolicy(0)).play(recording, "worker-0")
    assert run.outcome.exit_code == code
    assert begins(run.outcome.cause.reason, words)


def test_an_interpreter_that_the_image_lacks_is_not_looked_for_twice():
    run = Run(workers(1)).play("reason-no-such-command", "worker-0")
    assert len(run.made()) == 1
    assert run.outcome.cause.reason.startswith("could not be started: ")
    assert "no such file or directory" in run.outcome.cause.reason


HOPELESS = [
    ("reason-pull", 30, "cannot pull image me/train (ErrImagePull): "),
    ("reason-never-pull", 1, "cannot pull image me/train (ErrImageNeverPull)"),
    ("reason-no-secret", 20, 'cannot be started (CreateContainerConfigError): secret "none" not'),
]


@pytest.mark.parametrize(("recording", "seconds", "words"), HOPELESS, ids=lambda v: str(v)[:24])
def test_what_cannot_be_started_is_given_up_soon_with_one_clear_line(recording, seconds, words):
    run = Run(workers(1)).play(recording, "worker-0")
    run.wait(seconds)
    assert run.outcome.cause.reason.startswith(words), run.outcome.cause.reason
    assert len(run.made()) == 1


def test_an_image_that_can_be_pulled_at_the_second_try_is_no_end():
    run = Run(workers(1))
    run.pod("worker-0", node="node-1", waiting="ErrImagePull", detail="timeout")
    run.wait(10)
    run.running("worker-0")
    run.wait(60)
    assert run.outcome is None
    assert run.said()[-1].startswith("waiting for worker:0 on node-1")


def test_a_pod_that_was_evicted_is_lost_with_the_words_of_its_node():
    run = Run(workers(1)).up()
    detail = "The node was low on resource: memory."
    run.pod("worker-0", node="node-1", phase="Failed", reason="Evicted", detail=detail)
    run.cut("worker:0")
    run.wait(5)
    why = "was evicted by its node: The node was low on resource: memory"
    assert run.outcome.cause.reason == why


def test_a_lost_pod_has_all_started_again_if_the_policy_says_so():
    run = Run(workers(2), restarts=RestartPolicy(1, "all")).up()
    run.pod("worker-0", node="node-1", phase="Failed", reason="Evicted")
    run.wait(4)
    run.exit("worker:1", 143)
    run.wait(10)
    assert run.made()[1] == ["worker-0-2", "worker-1-2"]
    assert "worker-0" in run.deleted()
    assert run.state.phase is Phase.STARTING


def test_a_pod_that_somebody_deletes_is_told_so_and_not_that_it_was_stopped():
    run = Run(workers(1)).up()
    run.running("worker-0", is_deleting=True)
    run.exit("worker:0", 143, "was ended by its node: it was killed by SIGTERM (signal 15)")
    assert run.outcome.cause.reason == "was deleted from outside the run"


def test_a_preempted_pod_is_told_so_where_the_server_tells():
    run = Run(workers(1)).up()
    run.running("worker-0", is_deleting=True, disruption="PreemptionByScheduler")
    run.exit("worker:0", 143, "was ended by its node: it was killed by SIGTERM (signal 15)")
    assert "preemption" in run.outcome.cause.reason


def test_a_pod_whose_preemption_an_event_tells_is_lost_and_started_again_if_the_policy_says_so():
    def preempt(pod):
        run.running(pod, is_deleting=True)
        run(kubernetes.PodPreempted(pod, "Preempted by a/b on node node-1"))
        run.exit("worker:0", 3, "was ended by its node: it exited with 3")
        run.wait(10)

    why = "(preemption): Preempted by a/b"
    run = Run(workers(1), restarts=RestartPolicy(1, "all")).up()
    preempt("worker-0")
    assert run.made()[1] == ["worker-0-2"] and any(why in text for text in run.said())
    run.up()
    preempt("worker-0-2")
    assert run.made()[2] == ["worker-0-3"]  # it counts as none of the restarts
    run = Run(workers(1)).up()
    preempt("worker-0")
    assert run.outcome.cause.reason.endswith(why) and run.outcome.exit_code == 75
    assert why in str(run.outcome.error)


def test_a_preempted_pod_that_is_gone_before_its_runner_could_report_is_told_so():
    run = Run(workers(1)).up()
    run.running("worker-0", is_deleting=True)
    run(kubernetes.PodPreempted("worker-0"))
    run.cut("worker:0")
    run.gone("worker-0")
    run.wait(5)
    assert "(preemption)" in run.outcome.cause.reason


def test_a_pod_that_is_gone_at_once_was_deleted_by_somebody():
    run = Run(workers(1)).up()
    run.cut("worker:0")
    run.gone("worker-0")
    run.wait(5)
    assert run.outcome.cause.reason == "was deleted from outside the run"


def test_the_end_that_a_runner_reports_comes_before_the_code_of_its_container():
    run = Run(workers(2)).up()
    run.pod("worker-1", node="node-1", phase="Failed", code=3, reason="Error")
    run.exit("worker:1", 3, "exited with 3")
    assert run.outcome is None
    assert [type(todo) for todo in run.log[-1:]] == [StopRunner]
    run.pod("worker-0", node="node-1", phase="Failed", code=143, reason="Error")
    run.exit("worker:0", 143)
    assert run.outcome.cause.task.name == "worker:1"
    assert run.outcome.cause.tail == ("last words",)


def test_a_silent_node_is_no_end_as_long_as_the_runner_answers():
    run = Run(workers(1)).up()
    run.play("node-failure", "worker-0")
    run.wait(600)
    assert run.outcome is None
    assert any(names(text, "worker:0", "its runner answers") for text in run.said())


def test_a_node_and_its_runner_that_are_both_silent_are_lost():
    run = Run(workers(1)).up()
    run(happened.RunnerOutOfTouch(run.id("worker:0")))
    run.play("node-failure", "worker-0")
    run(happened.RunnerLost(run.id("worker:0"), "no message came from it for 30 s"))
    assert names(run.outcome.cause.reason, "unreachable", "cluster", "launcher")


# The server


def test_pods_that_are_missing_in_a_new_list_are_gone():
    run = Run(workers(2)).up()
    run(kubernetes.PodsListed((PodSeen("worker-0", "Running", "node-1", is_running=True),)))
    run.wait(20)
    assert run.outcome.cause.task.name == "worker:1"


def test_a_server_that_is_lost_and_back_is_said_once_each():
    run = Run(workers(1)).up()
    for _ in range(3):
        run(kubernetes.Disconnected("connection refused"))
    run(kubernetes.Reconnected())
    run(kubernetes.Reconnected())
    assert run.said()[-2:] == [
        "lost the API server: connection refused",
        "the API server is back",
    ]


def test_stopping_deletes_the_pods_that_wait_and_kills_those_without_a_runner():
    run = Run(workers(2))
    run.scheduled("worker-0")
    run(happened.StopRequested("interrupted", 130))
    assert sorted(run.deleted()) == ["worker-0", "worker-1"]
    assert run.outcome is None
    run.pod("worker-0", node="node-1", phase="Failed", code=143)
    assert run.outcome.exit_code == 130


def test_a_task_whose_owner_restarts_it_waits_for_a_place_and_the_others_keep_theirs():
    run = Run(workers(2), hold=10).up()
    run(happened.RestartRequested(run.id("worker:0"), elsewhere=False))
    run.exit("worker:0", 143)
    assert run.made()[-1] == ["worker-0-2"]
    run.crowded("worker-0-2")
    run.wait(11)
    assert run.deleted() == ["worker-0"]
