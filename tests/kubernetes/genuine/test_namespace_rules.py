"""Runs in namespaces that demand something of their pods."""

from __future__ import annotations

import json
import shlex

import pytest
import yaml

from tests.commands import finish, read_until, running_tfrun, tfrun, without_waits
from tests.mesos.genuine.cluster import wait_until
from tests.packs import write

from .conftest import IMAGE
from .namespace import documented
from .pod_security import restricted
from .pods import SMALL, on_kubernetes


@pytest.fixture
def strict(kube, tmp_path):
    """A namespace that takes only what Pod Security calls restricted."""
    with restricted(kube, tmp_path):
        yield kube


def test_the_documented_command_runs_where_pods_are_restricted(strict, tmp_path):
    (line,) = documented("security").replace("me/train", IMAGE).splitlines()
    place = write(tmp_path / "project", train_py="import os\nprint('trained as', os.getuid())")
    program, *words = shlex.split(line.replace("python train.py", "python3 train.py"))
    done = tfrun(*SMALL, "--ship", *words, cwd=place)
    assert (program, done.returncode) == ("tfrun", 0), done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[worker:{i}] trained as 1000" for i in range(2)]


def test_a_task_with_a_user_runs_where_pods_are_restricted(strict, tmp_path):
    place = write(tmp_path / "project", train_py="print('trained')")
    words = on_kubernetes("-w", 2, *SMALL, "--user", "1000660000:0", "--ship", "--shm", "8M")
    show = (
        "id -u; python3 train.py; touch new; grep -E 'NoNewPrivs|Seccomp:|CapBnd' /proc/self/status"
    )
    done = tfrun(*words, "--", show, cwd=place)
    assert done.returncode == 0, done.stderr
    own = [line.partition("] ")[2] for line in done.stdout.splitlines() if "worker:0" in line]
    facts = dict(line.split(":\t") for line in own[2:])
    assert own[:2] == ["1000660000", "trained"]
    assert facts == {"CapBnd": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}


def test_a_run_that_may_be_root_is_refused_in_one_line_with_the_way_out(strict):
    done = tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "true")
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    (line,) = without_waits(done.stderr).splitlines()
    assert f"namespace {strict.name} enforces Pod Security restricted" in line
    assert "a number above 0" in line


def test_paths_of_nodes_are_refused_where_pods_are_restricted(strict, tmp_path):
    words = on_kubernetes("-w", 1, *SMALL, "--user", 1000, "-V", f"{tmp_path}:/in:ro")
    done = tfrun(*words, "--", "true")
    assert done.returncode == 2 and "use persistent volume claims" in done.stderr, done.stderr


@pytest.mark.parametrize("kind", ["quota", "range"])
def test_a_namespace_that_demands_cpu_limits_gets_them(kube, kind):
    if kind == "quota":
        hard = {"hard": {"limits.cpu": "4", "limits.memory": "4Gi"}}
        rule = {"metadata": {"name": "compute"}, "spec": hard}
        quotas = f"{kube.path}/resourcequotas"
        kube.admin.post(quotas, rule)
        wait_until("it counts", lambda: kube.admin.get(f"{quotas}/compute")["status"].get("used"))
    else:
        default = {"type": "Container", "default": {"cpu": "50m"}, "defaultRequest": {"cpu": "50m"}}
        rule = {"metadata": {"name": "small"}, "spec": {"limits": [default]}}
        kube.admin.post(f"{kube.path}/limitranges", rule)
    with running_tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        amounts = [pod["spec"]["containers"][0]["resources"] for pod in kube.pods()]
        run.terminate()
        finish(run)
    assert [(it["requests"]["cpu"], it["limits"]["cpu"]) for it in amounts] == [
        ("100m", "100m")
    ] * 2


def test_without_such_a_rule_a_task_may_use_more_cpu_than_it_asks_for(kube, tmp_path):
    template = tmp_path / "pod.json"
    limits = {"resources": {"limits": {"memory": "96Mi"}}}
    template.write_text(json.dumps({"spec": {"containers": [{"name": "main", **limits}]}}))
    words = on_kubernetes("-w", 1, "-Cw", 0.1, "--pod-template", template)
    with running_tfrun(*words, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up")
        (pod,) = kube.pods()
        run.terminate()
        finish(run)
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "96Mi"},
        "limits": {"memory": "96Mi"},
    }
    assert pod["status"]["qosClass"] == "Burstable"


def test_the_documented_network_policy_is_taken_and_means_the_pods_of_runs(kube):
    made = kube.kubectl("apply", "-f", "-", input=documented("policy"))
    assert made.returncode == 0, made.stderr
    policies = f"/apis/networking.k8s.io/v1/namespaces/{kube.name}/networkpolicies"
    kept = kube.admin.get(f"{policies}/tfrun")["spec"]
    assert kept == yaml.safe_load(documented("policy"))["spec"]
    (own,) = kept["podSelector"]["matchLabels"].items()
    with running_tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        labels = [pod["metadata"]["labels"] for pod in kube.pods()]
        run.terminate()
        finish(run)
    assert len(labels) == 2 and all(own in it.items() for it in labels)


def test_kubectl_drains_a_node_with_a_task_only_by_force(kube):
    """As the page says; nothing is drained here."""
    with running_tfrun(*on_kubernetes("-w", 1, *SMALL), "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up")
        (pod,) = kube.pods()
        drain = ("drain", pod["spec"]["nodeName"], "--dry-run=server", "--ignore-daemonsets")
        only = ("--pod-selector", f"tfmesos/run={pod['metadata']['labels']['tfmesos/run']}")
        refused = kube.kubectl(*drain, *only)
        forced = kube.kubectl(*drain, *only, "--force")
        run.terminate()
        finish(run)
    assert refused.returncode != 0 and "--force" in refused.stderr
    assert forced.returncode == 0, forced.stderr
    assert pod["metadata"]["name"] in forced.stdout
