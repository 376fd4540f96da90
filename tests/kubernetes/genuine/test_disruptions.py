"""Pods that have to go before their tasks have ended, by the hand of the cluster."""

from __future__ import annotations

import json

import pytest

from tests.commands import finish, read_until, running_tfrun

from .namespace import RIGHTS
from .pods import SMALL, create, has_ended, on_kubernetes, pod, remove, until

CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MOST = 0.6  # of the CPUs of a node: two such pods do not fit
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


@pytest.fixture
def node(kube):
    """The name of a node, and most of its CPUs."""
    nodes = [it for it in kube.admin.items("/api/v1/nodes") if not it["spec"].get("taints")]
    last = max(nodes, key=lambda it: it["metadata"]["name"])
    return last["metadata"]["labels"]["kubernetes.io/hostname"], cpus(last) * MOST


def cpus(node):
    there = node["status"]["allocatable"]["cpu"]
    return float(there[:-1]) / 1000 if there.endswith("m") else float(there)


def important(name, priority, node):
    """A pod that needs most of a node, for a moment."""
    where, most = node
    return pod(
        name,
        "true",
        priorityClassName=priority,
        nodeSelector={"kubernetes.io/hostname": where},
        container={"resources": {"requests": {"cpu": str(most), "memory": "64Mi"}}},
    )


def test_a_task_that_makes_room_for_a_pod_of_higher_priority_is_lost_and_told_as_such(
    kube, tmp_path, priorities, node
):
    """Servers since 1.26 say so in a condition of the pod; before that an event names the other."""
    low, high = priorities
    if is_old := kube.admin.minor_version < 26:
        kube.allow({**RIGHTS, "events": ["list"]})
    job_file = tmp_path / "job.yaml"
    job_file.write_text(
        f"priority: {low}\njobs: {{worker: {{num: 1, mem: 64, cpus: {node[1]}}}}}\n"
    )
    where = ("--constraint", f"hostname:IS:{node[0]}", "--stop-grace", 5)
    again = ("--restart-policy", "all", "--restarts", 0)  # a notice counts as none
    why = "had to make room for a pod of higher priority (preemption)"
    by = f": Preempted by {kube.name}/" if is_old else ""
    with running_tfrun(job_file, *on_kubernetes(*where, *again), "--", SLOW_TO_GO) as run:
        read_until(run.stdout, "[worker:0] up")
        create(kube, important("first", high, node))
        read_until(run.stderr, f"worker:0 {why}{by}{'first' if is_old else ''} on {node[0]}")
        until(kube, "first", has_ended)
        read_until(run.stdout, "[worker:0] up")
        run.terminate()
        finish(run)
    with running_tfrun(job_file, *on_kubernetes(*where), "--", SLOW_TO_GO) as run:
        read_until(run.stdout, "[worker:0] up")
        create(kube, important("second", high, node))
        _, err = finish(run)
    until(kube, "second", has_ended)
    remove(kube, "first", "second")
    assert run.returncode == 75, err  # although its command ended with 0
    assert f"tfrun: worker:0 {why}{by}{'second' if is_old else ''} on {node[0]}\n" in err


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
