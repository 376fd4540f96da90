"""The pods of a run in a queue of Kueue."""

import pytest

from tests.builders import workers
from tests.engines.kubernetes.runs import Run
from tests.engines.kubernetes.test_objects import config, pod
from tests.sentences import names
from tfmesos.core.phases import Phase
from tfmesos.engines.kubernetes import events as kubernetes
from tfmesos.engines.kubernetes.actions import AskQueue, CreatePods
from tfmesos.engines.kubernetes.pod_status import read
from tfmesos.engines.kubernetes.pods.groups import PodGroup, reason

FULL = (
    "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default"
)


def test_pods_of_a_queue_have_the_labels_of_its_pod_group():
    group = PodGroup.of("training", "tfmesos-abcd", 1, 3)
    metadata = pod(config(workers(3), queue="training"), group=group)["metadata"]
    assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "training"
    assert metadata["labels"]["kueue.x-k8s.io/pod-group-name"] == "tfmesos-abcd"
    assert metadata["annotations"]["kueue.x-k8s.io/pod-group-total-count"] == "3"
    assert metadata["annotations"]["kueue.x-k8s.io/retriable-in-group"] == "false"


def test_pods_that_are_made_again_are_another_group():
    assert PodGroup.of("q", "run", 2, 3) == PodGroup("q", "run-2", 3)
    run = Run(workers(2), hold=10, has_queue=True)
    run.scheduled("worker-0")
    run.wait(30)
    made = [todo for todo in run.log if isinstance(todo, CreatePods)]
    assert [(todo.round, len(todo.pods)) for todo in made] == [(1, 2), (2, 2)]


def test_without_a_queue_there_is_no_group():
    assert PodGroup.of(None, "run", 1, 3) is None
    assert "kueue" not in str(pod(config()))


def workload(**conditions):
    found = [
        {"type": name, "status": status, "message": words}
        for name, (status, words) in conditions.items()
    ]
    return {"status": {"conditions": found}}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (workload(QuotaReserved=("False", FULL)), FULL),
        (workload(QuotaReserved=("True", "x"), Admitted=("False", "checks")), "checks"),
        (workload(Evicted=("True", "Preempted"), QuotaReserved=("False", "x")), "Preempted"),
        (workload(QuotaReserved=("True", "x"), Admitted=("True", "y")), ""),
        ({}, ""),
        ({"status": {"conditions": "none"}}, ""),
    ],
)
def test_the_reason_of_the_queue_is_that_of_its_workload(found, words):
    assert reason(found) == words


def test_the_reason_of_the_queue_is_on_the_screen_while_it_holds_the_pods_back():
    run = Run(workers(2), has_queue=True)
    run.gated("worker-0", "worker-1")
    asked = run.wait(5)
    assert [todo for todo in asked if isinstance(todo, AskQueue)]
    run(kubernetes.QueueSaid(FULL))
    run.wait(5)
    assert names(run.said()[-1], "0 of 2 tasks placed", "queue", FULL)
    assert [todo for todo in run.wait(20) if isinstance(todo, AskQueue)]
    run(kubernetes.QueueSaid(""))
    run.running("worker-0", "worker-1")
    run.register()
    assert run.state.phase is Phase.RUNNING
    assert not [todo for todo in run.wait(60) if isinstance(todo, AskQueue)]
    assert run.deleted() == []


def test_a_queue_that_may_not_be_asked_is_not_asked_again():
    run = Run(workers(2), has_queue=True)
    run.gated("worker-0", "worker-1")
    run.wait(5)
    run(kubernetes.QueueSaid(None))
    assert not [todo for todo in run.wait(120) if isinstance(todo, AskQueue)]


def test_a_run_without_a_queue_asks_none():
    run = Run(workers(2))
    assert not [todo for todo in run.wait(120) if isinstance(todo, AskQueue)]


def test_a_pod_that_its_queue_stops_says_so():
    stopped = {"type": "TerminationTarget", "status": "True", "reason": "WorkloadEvicted"}
    seen = read({"metadata": {"name": "worker-0"}, "status": {"conditions": [stopped]}})
    run = Run(workers(1)).up()
    run.pod("worker-0", node="node-1", is_deleting=True, disruption=seen.disruption)
    run.gone("worker-0")
    run.wait(30)
    assert "was stopped by its queue" in run.outcome.cause.reason
