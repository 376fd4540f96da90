"""A TFJob that is written again keeps all that its file says, but for what flags change."""

from __future__ import annotations

import copy

import pytest
import yaml

from tests.jobfiles.tfjob.test_document import new, old, replica, typed
from tfmesos.cli.arguments import parse
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.errors import SpecError

POD = {
    "nodeSelector": {"gpu": "a100"},
    "tolerations": [{"operator": "Exists"}],
    "serviceAccountName": "trainer",
    "imagePullSecrets": [{"name": "registry"}],
    "securityContext": {"runAsUser": 7},
    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    "initContainers": [{"name": "fetch", "image": "busybox"}],
    "hostNetwork": True,
}
CONTAINER = {
    "args": ["--steps", "$(STEPS)"],
    "env": [
        {"name": "STEPS", "value": "5"},
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ],
    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    "imagePullPolicy": "IfNotPresent",
    "resources": {"limits": {"nvidia.com/gpu": 1}},
}


def whole():
    policy = {"cleanPodPolicy": "None", "ttlSecondsAfterFinished": 60, "backoffLimit": 3}
    worker = typed(2, "OnFailure", POD, **copy.deepcopy(CONTAINER))
    worker["template"]["metadata"] = {"annotations": {"sidecar.istio.io/inject": "false"}}
    worker["template"]["spec"]["containers"].append({"name": "proxy", "image": "p"})
    tree = new({"runPolicy": policy}, Worker=worker, PS=typed(1, "Always"))
    tree["metadata"] |= {"namespace": "ml", "labels": {"a": "b"}, "annotations": {"c": "d"}}
    return tree


@pytest.fixture
def written(tmp_path):
    def write(tree, *flags):
        path = tmp_path / "job.yaml"
        path.write_text(yaml.safe_dump(tree))
        args = parse([str(path), "--dry-run=tfjob", *map(str, flags)])
        return yaml.safe_load(inputs_of(args).as_tfjob())

    return write


@pytest.mark.parametrize("flags", [(), ("-m", "k8s://"), ("-m", "k8s://here/other")])
def test_without_flags_that_change_it_the_file_comes_back(written, flags):
    assert written(whole(), *flags) == whole()


def test_flags_change_what_they_name_and_nothing_else(written):
    expected = whole()
    worker, ps = (expected["spec"]["tfReplicaSpecs"][name] for name in ("Worker", "PS"))
    worker["replicas"] = 4
    own = worker["template"]["spec"]["containers"][0]
    own["env"].append({"name": "A", "value": "1"})
    own["resources"] = {"limits": {"nvidia.com/gpu": 1, "memory": "2048Mi"}}
    own["resources"]["requests"] = {"memory": "2048Mi"}
    ps["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    expected["metadata"]["name"] = "other"
    expected["spec"]["runPolicy"]["activeDeadlineSeconds"] = 60
    flags = ("-w", 4, "-Mw", "2G", "--env", "A=1", "-n", "other", "--run-timeout", "1m")
    assert written(whole(), *flags) == expected


def test_another_command_comes_with_its_own_arguments(written):
    types = written(whole(), "--", "python", "other.py")["spec"]["tfReplicaSpecs"]
    own, proxy = types["Worker"]["template"]["spec"]["containers"]
    assert own["command"] == ["python", "other.py"] and "args" not in own
    assert own["volumeMounts"] == CONTAINER["volumeMounts"] and proxy["name"] == "proxy"


def test_a_directory_takes_the_place_of_a_claim_at_its_path(written):
    pod = written(whole(), "-V", "/here:/data")["spec"]["tfReplicaSpecs"]["Worker"]["template"]
    own = pod["spec"]["containers"][0]
    assert own["volumeMounts"] == [{"name": "volume-0", "mountPath": "/data"}]
    assert pod["spec"]["volumes"][-1] == {"name": "volume-0", "hostPath": {"path": "/here"}}


def test_more_tasks_are_added_and_more_workers_all_decide(written):
    tree = new(Worker=typed(1))
    spec = written(tree, "--chief", "-Cw", 2, "--", "x")["spec"]
    assert spec["tfReplicaSpecs"]["Chief"]["replicas"] == 1
    assert written(tree, "-w", 2)["spec"]["successPolicy"] == "AllWorkers"


def test_a_tf_job_of_the_first_version_keeps_metadata_and_templates(written):
    master = replica("MASTER", command=["true"])
    master["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    tree = old(master, {"replicas": 2, "tfReplicaType": "PS"})
    tree["metadata"]["labels"] = {"a": "b"}
    found = written(tree)
    assert found["apiVersion"] == "kubeflow.org/v1"
    assert found["metadata"] == {"name": "example-job", "labels": {"a": "b"}}
    types = found["spec"]["tfReplicaSpecs"]
    assert types["Master"]["template"] == master["template"]
    assert (types["Master"]["restartPolicy"], types["PS"]["replicas"]) == ("ExitCode", 2)


@pytest.mark.parametrize(
    "flags, said",
    [
        (("--hang-timeout", 5), "hang_timeout cannot be expressed in a TFJob"),
        (("-n", "My job"), "name must be lower-case"),
        (("--image", ""), "image is missing"),
        (("-Mw", 1), "mem must be at least"),
        (("--", "x {task_index}"), "cmd has {task_index}"),
    ],
)
def test_what_a_tfjob_cannot_say_is_refused(written, flags, said):
    with pytest.raises(SpecError) as caught:
        written(whole(), *flags)
    assert said in str(caught.value)


def test_another_file_is_none(written, tmp_path):
    path = tmp_path / "job.yaml"
    path.write_text("cmd: x\njobs: {worker: {}}")
    args = parse([str(path), "--dry-run=tfjob"])
    assert inputs_of(args).as_tfjob() is None
