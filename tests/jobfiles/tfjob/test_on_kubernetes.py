"""TFJobs on Kubernetes keep what their pod templates say."""

import copy

import pytest

from tests.jobfiles.tfjob.test_document import new, old, replica, typed
from tfmesos.jobfiles.formats import translate
from tfmesos.jobfiles.reading import Tree
from tfmesos.jobfiles.tfjob import document as tfjob
from tfmesos.jobfiles.tfjob.on_kubernetes import to_ours
from tfmesos.jobfiles.translation import Beside, JobFileError

POD = {
    "nodeSelector": {"gpu": "a100"},
    "tolerations": [{"operator": "Exists"}],
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    "initContainers": [{"name": "fetch", "image": "busybox"}],
    "serviceAccountName": "trainer",
}
CONTAINER = {
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "envFrom": [{"secretRef": {"name": "keys"}}],
    "env": [
        {"name": "A", "value": "1"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "ports": [{"name": "tfjob-port", "containerPort": 2222}, {"containerPort": 80}],
    "resources": {"limits": {"nvidia.com/gpu": 1, "rdma/hca": 1}},
    "securityContext": {"runAsUser": 7},
}


def whole():
    one = typed(2, pod=POD, **CONTAINER)
    one["template"]["metadata"] = {"annotations": {"sidecar.istio.io/inject": "false"}}
    one["template"]["spec"]["containers"].append({"name": "proxy", "image": "p"})
    return new(Worker=one)


def test_what_is_no_setting_of_ours_is_in_the_template_of_the_job():
    found = to_ours(whole())
    assert found.remarks == ()
    job = found.document["jobs"]["worker"]
    assert (job["gpus"], job["port"], found.document["env"]) == (1, 2222, {"A": "1"})
    template = job["pod_template"]
    assert template["metadata"]["annotations"] == {"sidecar.istio.io/inject": "false"}
    spec = dict(template["spec"])
    own, proxy = spec.pop("containers")
    assert spec == POD and proxy == {"name": "proxy", "image": "p"}
    assert own == {
        "name": "tensorflow",
        "volumeMounts": CONTAINER["volumeMounts"],
        "envFrom": CONTAINER["envFrom"],
        "env": CONTAINER["env"][1:],
        "ports": CONTAINER["ports"][1:],
        "resources": {"limits": {"rdma/hca": 1}},
        "securityContext": {"runAsUser": 7},
    }


def test_the_same_document_is_refused_elsewhere():
    with pytest.raises(JobFileError, match="initContainers is not supported"):
        tfjob.to_ours(whole())


def test_the_document_itself_is_not_changed():
    tree = whole()
    before = copy.deepcopy(tree)
    to_ours(tree)
    assert tree == before


def test_a_template_that_says_nothing_more_is_none():
    assert "pod_template" not in to_ours(new(Worker=typed(2))).document["jobs"]["worker"]


def test_the_ancestor_of_tf_jobs_has_templates_too():
    master = replica("MASTER", command=["true"])
    master["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    job = to_ours(old(master)).document["jobs"]["master"]
    assert job["pod_template"] == {"spec": {"nodeSelector": {"disk": "ssd"}}}


def test_a_policy_to_restart_single_tasks_restarts_all_and_says_so():
    found = to_ours(new(Worker=typed(2, "OnFailure")))
    assert found.document["restart_policy"] == "all"
    assert "starts all tasks again" in found.remarks[0]


def test_its_namespace_is_that_of_the_run():
    tree = whole()
    tree["metadata"]["namespace"] = "training"
    found = translate(Tree("a.yaml", tree, {}), Beside(runs_pods=True))
    assert found.document["namespace"] == "training" and found.remarks == ()


def test_only_a_run_on_a_kubernetes_reads_them_so():
    tree = Tree("a.yaml", whole(), {})
    assert translate(tree, Beside(runs_pods=True)).document["jobs"]["worker"]["pod_template"]
    with pytest.raises(JobFileError):
        translate(tree)
