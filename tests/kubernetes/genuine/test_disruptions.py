"""Pods that have to go before their tasks have ended, by the hand of the cluster."""

from __future__ import annotations

import json

import pytest

from tests.commands import finish, read_until, running_tfrun

from .namespace import RIGHTS
from .pods import SMALL, create, has_ended, on_kubernetes, pod, remove, until

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
FULL = {"cpu": "1500m", "memory": "64Mi"}
SLOW_TO_GO = 'trap "sleep 2; exit 0" TERM; echo up; while :; do sleep 0.05; done'


@pytest.fixture
def priorities(kube):
    """The names of two classes, the lower one first."""
    names = {1: f"low-{kube.name}", 1000: f"high-{kube.name}"}
    for value, name in names.items():
        kube.admin.post(CLASSES, {"metadata": {"name": name}, "value": value})
    yield names.values()
    for name in names.values():
        kube.admin.delete(f"{CLASSES}/{name}")


def important(name, priority):
    """A pod that needs the whole of a node, for a moment."""
    return pod(
        name,
        "true",
        priorityClassName=priority,
        nodeSelector={"kubernetes.io/hostname": "node-3"},
        container={"resources": {"requests": FULL, "limits": FULL}},
    )


def test_a_task_that_makes_room_for_a_pod_of_higher_priority_is_lost_and_told_as_such(
    kube, tmp_path, priorities
):
    low, high = priorities
    kube.allow({**RIGHTS, "events": ["list"]})
    template = tmp_path / "pod.json"
    template.write_text(json.dumps({"spec": {"priorityClassName": low}}))
    where = ("--constraint", "hostname:IS:node-3", "--pod-template", template)
    again = ("--restart-policy", "all", "--restarts", 1)
    command = on_kubernetes("-w", 1, "-Cw", 1.5, "-Mw", 64, *where, *again)
    why = "had to make room for a pod of higher priority (preemption): Preempted by"
    with running_tfrun(*command, "--", SLOW_TO_GO) as run:
        read_until(run.stdout, "[worker:0] up")
        create(kube, important("first", high))
        read_until(run.stderr, f"worker:0 on node-3 {why} {kube.name}/first")
        until(kube, "first", has_ended)
        read_until(run.stdout, "[worker:0] up")
        create(kube, important("second", high))
        _, err = finish(run)
    until(kube, "second", has_ended)
    remove(kube, "first", "second")
    assert run.returncode == 143, err  # although its command ended with 0
    assert f"tfrun: worker:0 {why} {kube.name}/second on node-3\n" in err


def test_a_task_that_its_kubelet_evicts_is_told_with_the_reason_of_its_pod(kube, tmp_path):
    volume = {"name": "small", "emptyDir": {"sizeLimit": "1Mi"}}
    mount = {"name": "tensorflow", "volumeMounts": [{"name": "small", "mountPath": "/small"}]}
    template = tmp_path / "pod.json"
    template.write_text(json.dumps({"spec": {"volumes": [volume], "containers": [mount]}}))
    command = on_kubernetes("-w", 1, *SMALL, "--pod-template", template)
    too_much = "head -c 5000000 /dev/zero > /small/file; echo up; while :; do sleep 0.05; done"
    with running_tfrun(*command, "--", too_much) as run:
        read_until(run.stdout, "[worker:0] up")
        _, err = finish(run)
    assert run.returncode != 0
    assert "tfrun: worker:0 was evicted by its node: Usage of EmptyDir volume" in err, err
    assert "agent" not in err
