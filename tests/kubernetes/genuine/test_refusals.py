"""What a Kubernetes refuses: one line that says what, and nothing is left."""

from __future__ import annotations

import json

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun, without_waits
from tests.mesos.genuine.cluster import wait_until
from tfmesos.engines.kubernetes.permissions.rights import access_review, is_granted
from tfmesos.engines.own_address import local_address_towards

from .conftest import IMAGE
from .namespace import RIGHTS
from .pods import SMALL, on_kubernetes

EACH = [(resource, verb) for resource, verbs in RIGHTS.items() for verb in verbs]


@pytest.mark.parametrize("resource, verb", EACH)
def test_a_missing_right_is_named_with_the_rule_that_would_give_it(kube, resource, verb):
    kube.allow({it: [v for v in RIGHTS[it] if (it, v) != (resource, verb)] for it in RIGHTS})
    done = tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "true")
    assert done.returncode == 69, done.stderr
    rule = f'{{apiGroups: [""], resources: ["{resource}"], verbs: ["{verb}"]}}'
    assert rule in done.stderr and kube.name in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.rig("its nodes have the files of this machine")
def test_a_right_that_is_withdrawn_before_the_tasks_run_ends_the_run_with_its_rule(kube, tmp_path):
    wait = {
        **{"name": "wait", "image": IMAGE, "volumeMounts": [{"name": "own", "mountPath": "/own"}]},
        "command": ["sh", "-c", "until [ -e /own/go ]; do sleep 0.05; done"],
    }
    volume = {"name": "own", "hostPath": {"path": str(tmp_path)}}
    template = tmp_path / "pod.json"
    template.write_text(json.dumps({"spec": {"initContainers": [wait], "volumes": [volume]}}))
    words = on_kubernetes("-v", "-w", 1, *SMALL, "--pod-template", template)
    with running_tfrun(*words, "--", "true") as run:
        read_until(run.stderr, "creating 1 pod")
        kube.allow({**RIGHTS, "pods/portforward": []})
        wait_until("the server knows", lambda: not may_forward(kube))
        (tmp_path / "go").touch()
        _, err = finish(run)
    assert run.returncode == 69, err
    rule = '{apiGroups: [""], resources: ["pods/portforward"], verbs: ["get"]}'
    (line,) = [line for line in err.splitlines() if line.startswith("tfrun: not allowed to ")]
    assert "get pods/portforward" in line and rule in line


def may_forward(kube):
    asked = access_review(kube.name, ("pods/portforward", "get"))
    return is_granted(
        kube.user.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", asked)
    )


@pytest.mark.rig("its nodes are of known sizes and names")
def test_tasks_that_share_the_ports_of_their_nodes_have_to_find_the_launcher(kube, tmp_path):
    template = tmp_path / "pod.json"
    template.write_text(json.dumps({"spec": {"hostNetwork": True}}))
    together = ("--constraint", "hostname:IS:node-2")
    words = on_kubernetes("-w", 2, *SMALL, *together, "--pod-template", template)
    done = tfrun(*words, "--", "true")
    assert done.returncode == 2 and without_waits(done.stderr).count("\n") == 1
    assert "--pod-template has hostNetwork: true, which needs advertise" in done.stderr
    here = local_address_towards(f"https://{kube.user.address}", 443)
    done = tfrun(*words, "--advertise", here, "--", "echo up")
    assert (done.returncode, done.stdout.count("up")) == (0, 2), done.stderr
    alone = on_kubernetes("-w", 1, *SMALL, *together, "--pod-template", template)
    done = tfrun(*alone, "--", "echo up")
    assert (done.returncode, done.stdout) == (0, "[worker:0] up\n"), done.stderr


def test_a_quota_that_is_exceeded_is_told_in_the_words_of_the_server(kube):
    hard = {"hard": {"pods": "1"}}
    quota = {"metadata": {"name": "few"}, "spec": hard}
    kube.admin.post(f"{kube.path}/resourcequotas", quota)
    done = tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "true")
    assert done.returncode == 75, done.stderr
    assert "exceeded quota: few" in done.stderr


def test_a_namespace_that_does_not_exist_is_named(kube):
    words = on_kubernetes("-w", 1, *SMALL)[2:]
    done = tfrun("-m", "k8s://restricted/none", *words, "--", "true")
    assert done.returncode != 0 and "none" in done.stderr and "Traceback" not in done.stderr


def test_a_token_that_is_not_valid_is_told(kube):
    config = kube.kubeconfig.read_text()
    kube.kubeconfig.write_text(config.replace('"token": "', '"token": "x'))
    done = tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "true")
    assert done.returncode == 69, done.stderr
    assert "Unauthorized" in done.stderr and without_waits(done.stderr).count("\n") == 1


def test_an_image_that_cannot_be_had_is_given_up_after_one_clear_line(kube):
    words = ("-m", "k8s://", "--image", "127.0.0.1:1/none:1", "-w", 2, *SMALL)
    done = tfrun(*words, "--", "true")
    assert done.returncode != 0
    assert "127.0.0.1:1/none:1" in done.stderr and "ErrImagePull" in done.stderr, done.stderr


def test_what_the_scheduler_says_is_on_the_screen_and_the_run_goes_on_waiting(kube):
    with running_tfrun(*on_kubernetes("-w", 1, "-Cw", 9999), "--", "true") as run:
        read_until(run.stderr, " Insufficient cpu")
        assert run.poll() is None
        run.terminate()
        finish(run)
    assert run.returncode == 143
