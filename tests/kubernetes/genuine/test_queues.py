"""Runs that a queue holds back."""

from __future__ import annotations

import json

import pytest

from tests.commands import finish, read_until, running_tfrun
from tests.mesos.genuine.cluster import wait_until

from .api import Refused
from .namespace import RIGHTS, rules
from .pods import SMALL, on_kubernetes

GROUP = "kueue.x-k8s.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
VERSION = {"name": "v1beta1", "served": True, "storage": True}
DEFINITION = {
    "metadata": {
        "name": f"workloads.{GROUP}",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
    },
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Workload", "plural": "workloads", "singular": "workload"},
        "versions": [{**VERSION, "schema": {"openAPIV3Schema": ANYTHING}}],
    },
}
FULL = "couldn't assign flavors to pod set main: insufficient unused quota for cpu"


@pytest.fixture
def workloads(kube):
    """The path of the Workloads of the namespace; no Kueue is there to make them."""
    kube.admin.post(DEFINITIONS, DEFINITION)
    path = f"/apis/{GROUP}/v1beta1/namespaces/{kube.name}/workloads"
    try:
        wait_until("Workloads are served", lambda: is_served(kube, path))
        yield path
    finally:
        kube.admin.delete(f"{DEFINITIONS}/workloads.{GROUP}")


def is_served(kube, path):
    try:
        return kube.admin.get(path)
    except Refused:
        return None


@pytest.mark.rig("it defines Workloads for the whole cluster, and removes them")
def test_the_reason_of_the_queue_is_shown_to_who_may_read_its_workload(kube, workloads):
    more = {"apiGroups": [GROUP], "resources": ["workloads"], "verbs": ["get"]}
    kube.admin.patch(f"{kube.rbac}/roles/{kube.role}", {"rules": [*rules(RIGHTS), more]})
    words = on_kubernetes("-w", 2, "-Cw", 9999, "--queue", "research", "--gang-hold", 1)
    with running_tfrun(*words, "--", "true") as run:
        wait_until("the pods are made", lambda: len(kube.pods()) == 2)
        pods = kube.pods()
        (group,) = {pod["metadata"]["labels"][f"{GROUP}/pod-group-name"] for pod in pods}
        condition = {"type": "QuotaReserved", "status": "False", "message": FULL}
        workload = {"apiVersion": f"{GROUP}/v1beta1", "kind": "Workload"}
        workload |= {"metadata": {"name": group}, "status": {"conditions": [condition]}}
        kube.admin.post(workloads, workload)
        read_until(run.stderr, f"the queue says: {FULL}")
        kept = {pod["metadata"]["uid"] for pod in kube.pods()}
        run.terminate()
        finish(run)
    assert kept == {pod["metadata"]["uid"] for pod in pods}  # they hold nothing, so they stay
    for pod in pods:
        metadata = pod["metadata"]
        assert metadata["labels"][f"{GROUP}/queue-name"] == "research"
        assert metadata["annotations"][f"{GROUP}/pod-group-total-count"] == "2"


def test_a_run_whose_queue_is_nobodys_runs_with_the_documented_role(kube):
    words = on_kubernetes("-w", 2, *SMALL, "--queue", "research")
    with running_tfrun(*words, "--", "echo up") as run:
        out, err = finish(run)
    assert (run.returncode, out.count("up")) == (0, 2), err


def test_pods_behind_a_scheduling_gate_stay_until_it_opens(kube, tmp_path):
    if kube.admin.minor_version < 27:
        pytest.skip("servers before 1.27 know no scheduling gates")
    template = tmp_path / "pod.json"
    gates = {"spec": {"schedulingGates": [{"name": "example.com/wait"}]}}
    template.write_text(json.dumps(gates))
    words = on_kubernetes("-w", 2, *SMALL, "--pod-template", template, "--gang-hold", 1)
    with running_tfrun(*words, "--", "echo up") as run:
        read_until(run.stderr, "Scheduling is blocked")
        for pod in kube.pods():
            path = f"{kube.path}/pods/{pod['metadata']['name']}"
            kube.admin.patch(path, {"spec": {"schedulingGates": []}})
        out, err = finish(run)
    assert (run.returncode, out.count("up")) == (0, 2), err
