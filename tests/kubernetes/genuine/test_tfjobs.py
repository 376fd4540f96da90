"""The TFJobs that we write are what a genuine API server takes, down to the pods in them."""

from __future__ import annotations

import pytest
import yaml

from tests.commands import tfrun
from tests.mesos.genuine.cluster import wait_until

from .api import Refused

pytestmark = pytest.mark.rig("it defines TFJobs for the whole cluster, and removes them")

GROUP = "kubeflow.org"
REPLICAS = {
    "type": "object",
    "required": ["template"],
    "properties": {
        "replicas": {"type": "integer", "minimum": 1},
        "restartPolicy": {"enum": ["Never", "Always", "OnFailure", "ExitCode"], "type": "string"},
        "template": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}
KINDS = ("PS", "Worker", "Chief", "Master", "Evaluator")
RUN_POLICY = {
    "type": "object",
    "properties": {
        "cleanPodPolicy": {"type": "string"},
        "activeDeadlineSeconds": {"type": "integer"},
        "backoffLimit": {"type": "integer"},
    },
}
SPEC = {
    "type": "object",
    "required": ["tfReplicaSpecs"],
    "properties": {
        "successPolicy": {"type": "string"},
        "runPolicy": RUN_POLICY,
        "tfReplicaSpecs": {"type": "object", "properties": {kind: REPLICAS for kind in KINDS}},
    },
}
SCHEMA = {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"tfjobs.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "TFJob", "plural": "tfjobs", "singular": "tfjob"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": SCHEMA}],
    },
}


@pytest.fixture(scope="session")
def tf_jobs(admin_api):
    """A server that knows TFJobs; no operator is there to run them."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    admin_api.post(definitions, DEFINITION)
    yield
    admin_api.delete(f"{definitions}/tfjobs.{GROUP}")


COMMANDS = [
    ("-w", 2, "-s", 1, "--image", "me/train:1", "--", "python", "train.py"),
    (
        *("-w", 2, "-Gw", 1, "-Cw", 0.5, "-Mw", 512, "-V", "/data:/in:ro", "--image", "me/train"),
        *("--restart-policy", "task", "--retry-codes", "1-255", "--restarts", "4"),
        *("--run-timeout", 60, "--", "sh", "-c", "echo $$ $HOME"),
    ),
]


@pytest.mark.parametrize("arguments", COMMANDS)
def test_kubectl_creates_the_tf_job_that_we_write(kube, tf_jobs, arguments, tmp_path):
    written = tfrun("-n", "mnist", "--dry-run=tfjob", *arguments)
    assert written.returncode == 0, written.stderr
    path = f"/apis/{GROUP}/v1/namespaces/{kube.name}/tfjobs"
    wait_until("TFJobs are served", lambda: is_served(kube, path))
    done = kube.kubectl("create", "-f", "-", input=written.stdout)
    assert (done.returncode, done.stdout) == (0, "tfjob.kubeflow.org/mnist created\n"), done.stderr
    kept = kube.admin.get(f"{path}/mnist")["spec"]
    assert kept == yaml.safe_load(written.stdout)["spec"]  # no field was dropped
    for replicas in kept["tfReplicaSpecs"].values():
        check_pod(kube, replicas["template"])


def is_served(kube, path):
    try:
        return kube.admin.get(path)
    except Refused:
        return None


def check_pod(kube, template):
    """The server itself says whether the pods that an operator would make are right."""
    metadata = {**template.get("metadata", {}), "name": "checked"}
    kube.user.post(f"{kube.path}/pods?dryRun=All", {"metadata": metadata, "spec": template["spec"]})
