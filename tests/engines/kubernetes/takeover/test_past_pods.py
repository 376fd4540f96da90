"""What was decided before a launcher died is done by the next one, unless it was done."""

from __future__ import annotations

from tests.builders import workers
from tfmesos.core import events as tell
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes.actions import DeletePods, NewPod
from tfmesos.engines.kubernetes.pod_status import PodSeen
from tfmesos.engines.kubernetes.takeover.past_pods import PastPods
from tfmesos.inputs.merging import make_config

TASKS = make_config(workers(4), master="k8s://", image="i").tasks
PODS = [NewPod(f"worker-{task.index}", f"id-{task.index}", task) for task in TASKS]


def first_round(pods):
    return ["secret-1"], [pod.name for pod in pods]


def second_round(pods):
    return ["secret-2"], [pod.name for pod in pods]


def test_pods_are_made_again_that_nobody_has_seen_with_those_of_their_round():
    past = PastPods()
    past.made(PODS[:3], first_round)
    past.made(PODS[3:], second_round)
    past.happened(happened.PodChanged(PodSeen("worker-1")))
    assert past.to_make() == [
        ([PODS[0], PODS[2]], (["secret-1"], ["worker-0", "worker-2"])),
        ([PODS[3]], (["secret-2"], ["worker-3"])),
    ]


def test_a_pod_has_been_made_if_it_was_listed_or_is_gone_or_its_runner_has_spoken():
    past = PastPods()
    past.made(PODS, first_round)
    past.happened(happened.PodsListed((PodSeen("worker-0"),)))
    past.happened(happened.PodGone("worker-1"))
    past.happened(tell.RunnerBack("id-2"))
    assert past.to_make() == [([PODS[3]], (["secret-1"], ["worker-3"]))]


def test_pods_that_were_to_be_deleted_are_deleted_again_until_they_are_gone():
    past = PastPods()
    past.made(PODS[:3], first_round)
    past.deleted(DeletePods(("worker-0", "worker-1"), 5.0))
    past.happened(happened.PodGone("worker-1"))
    assert past.to_delete() == [DeletePods(("worker-0",), 5.0)]
    assert past.to_make() == [([PODS[2]], (["secret-1"], ["worker-2"]))]


def test_the_server_has_been_found_if_a_launcher_before_said_so():
    past = PastPods()
    assert not past.is_connected
    past.happened(happened.Connected("https://k", "team"))
    assert past.is_connected
