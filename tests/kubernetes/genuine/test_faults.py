"""What befalls a genuine Kubernetes, and how a run comes through it."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.bounds import HANG
from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .api import Refused
from .node import NodeSpec
from .pods import SMALL, on_kubernetes

COUNT = (
    "echo up; i=0; until [ -e /shared/go ]; do i=$((i + 1)); echo line $i; sleep 0.01; done;"
    " echo done $i"
)


@pytest.fixture
def shared(tmp_path):
    """A directory that the pods have as /shared."""
    place = tmp_path / "shared"
    place.mkdir()
    return place


@contextmanager
def counting_run(shared, *words):
    """A run whose two tasks write line after line, until the file go is there."""
    command = on_kubernetes("-w", 2, *SMALL, "-V", f"{shared}:/shared", *words)
    with running_tfrun(*command, "--", "sh", "-c", COUNT) as run:
        first = read_until(run.stdout, "[worker:0] line", "[worker:1] line")
        yield run, first


def assert_no_line_is_lost(first, out):
    lines = [*first, *out.splitlines()]
    for task in ("[worker:0]", "[worker:1]"):
        own = [line.removeprefix(f"{task} ") for line in lines if line.startswith(task)]
        assert own[0] == "up" and own[-1].startswith("done ")
        last = int(own[-1].split()[1])
        assert own[1:-1] == [f"line {number}" for number in range(1, last + 1)]


# The API server


def test_no_line_is_lost_while_the_api_server_restarts(kube, own_cluster, shared):
    with counting_run(shared) as (run, first):
        own_cluster.kill_apiserver()
        own_cluster.start_apiserver()
        (shared / "go").touch()
        out, err = finish(run)
    assert run.returncode == 0, err
    assert_no_line_is_lost(first, out)


def test_a_run_ends_well_although_its_tasks_end_while_there_is_no_api_server(
    kube, own_cluster, shared
):
    with counting_run(shared) as (run, first):
        own_cluster.kill_apiserver()
        (shared / "go").touch()
        own_cluster.start_apiserver()
        out, err = finish(run)
    assert run.returncode == 0, err
    assert_no_line_is_lost(first, out)


def test_a_run_that_waits_for_room_survives_a_restart_of_the_api_server(kube, own_cluster, shared):
    """After it every version of the objects that was seen before is too old to watch from."""
    large = on_kubernetes("-w", 3, "-Cw", 1.5, "-Mw", 64, "-V", f"{shared}:/shared")
    wait = "echo up; until [ -e /shared/go ]; do sleep 0.05; done"
    with running_tfrun(*large, "--", wait) as other:
        read_until(other.stdout, "[worker:0] up", "[worker:1] up", "[worker:2] up")
        with running_tfrun(*large, "--", "echo done") as run:
            read_until(run.stderr, "Insufficient cpu")
            own_cluster.kill_apiserver()
            own_cluster.start_apiserver()
            (shared / "go").touch()
            out, err = finish(run)
        finish(other)
    assert (run.returncode, out.count("done")) == (0, 3), err
    assert other.returncode == 0


def test_a_run_that_begins_before_the_api_server_knows_its_role_ends_well(kube, own_cluster):
    own_cluster.kill_apiserver()
    command = on_kubernetes("-w", 2, *SMALL, "--start-timeout", HANG)
    with running_tfrun(*command, "--", "echo up") as run:
        read_until(run.stderr, "trying again")
        own_cluster.start_apiserver()
        out, err = finish(run)
    assert (run.returncode, out.count("up")) == (0, 2), err


def test_a_frozen_api_server_loses_no_line(kube, own_cluster, shared):
    with counting_run(shared) as (run, first):
        server = own_cluster.control.programs["kube-apiserver"]
        server.freeze()
        (shared / "go").touch()
        server.thaw()
        out, err = finish(run)
    assert run.returncode == 0, err
    assert_no_line_is_lost(first, out)


# The nodes


def test_no_line_is_lost_while_the_kubelets_restart(kube, own_cluster, shared):
    with counting_run(shared) as (run, first):
        for node in own_cluster.nodes:
            node.programs["kubelet"].kill()
            node.start_kubelet()
        own_cluster.wait_for_nodes()
        (shared / "go").touch()
        out, err = finish(run)
    assert run.returncode == 0, err
    assert_no_line_is_lost(first, out)


def test_a_node_that_is_gone_for_good_fails_the_run_and_is_named(kube, own_cluster, shared):
    with own_cluster.spare_node(NodeSpec("spare", {"rack": "r9"})) as node:
        there = ("--constraint", "rack:IS:r9")
        with counting_run(shared, *there) as (run, _):
            node.kill()
            _, err = finish(run)
    assert run.returncode != 0
    assert re.search(r"tfrun: worker:\d .*on spare", err), err


# What people do


def test_a_pod_that_somebody_deletes_fails_the_run_and_that_is_said(kube, shared):
    with counting_run(shared) as (run, _):
        pod = next(it for it in kube.pods() if it["metadata"]["name"].endswith("worker-1"))
        name = pod["metadata"]["name"]
        assert kube.kubectl("delete", "pod", name, "--wait=false").returncode == 0
        _, err = finish(run)
    assert run.returncode != 0
    assert re.search(r"tfrun: worker:1 was deleted", err), err


def test_a_namespace_that_is_deleted_ends_the_run(kube, shared):
    with counting_run(shared) as (run, _):
        kube.admin.delete(kube.path)
        _, err = finish(run)
    assert run.returncode != 0
    assert "Traceback" not in err and "deleted" in err, err


def test_a_killed_launcher_leaves_no_task_after_the_grace(kube, shared):
    with counting_run(shared, "--survive", 0) as (run, _):
        run.kill()
        run.wait()
        wait_until("no pod runs", lambda: not running_pods(kube))
    for kind in ("configmaps", "secrets"):
        for it in kube.admin.items(f"{kube.path}/{kind}"):
            if it["metadata"]["name"].startswith("tfmesos"):
                kube.admin.delete(f"{kube.path}/{kind}/{it['metadata']['name']}")


def running_pods(kube):
    return [pod for pod in kube.pods() if pod["status"].get("phase") in ("Pending", "Running")]


# A server that has no time


@pytest.fixture
def busy_server(kube):
    """The server answers few requests of our user at a time, and others with 429."""
    is_old = kube.admin.minor_version < 29
    flow = f"/apis/flowcontrol.apiserver.k8s.io/{'v1beta1' if is_old else 'v1'}"
    shares = "assuredConcurrencyShares" if is_old else "nominalConcurrencyShares"
    limits = {shares: 1, "limitResponse": {"type": "Reject"}}
    level = {"type": "Limited", "limited": limits}
    account = {"name": "restricted", "namespace": kube.name}
    whatever = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    subjects = [{"kind": "ServiceAccount", "serviceAccount": account}]
    schema = {
        "priorityLevelConfiguration": {"name": kube.name},
        "matchingPrecedence": 2,
        "rules": [{"subjects": subjects, "resourceRules": [whatever]}],
    }
    named = {"metadata": {"name": kube.name}}
    kube.admin.post(f"{flow}/prioritylevelconfigurations", {**named, "spec": level})
    kube.admin.post(f"{flow}/flowschemas", {**named, "spec": schema})
    wait_until("it has no time", lambda: 429 in answers_to_many(kube))
    yield
    kube.admin.delete(f"{flow}/flowschemas/{kube.name}")
    kube.admin.delete(f"{flow}/prioritylevelconfigurations/{kube.name}")


def answers_to_many(kube):
    def ask(_):
        try:
            kube.user.get(f"{kube.path}/pods")
            return 200
        except Refused as error:
            return error.status

    with ThreadPoolExecutor(32) as pool:
        return set(pool.map(ask, range(64)))


def test_a_server_without_time_is_asked_again(kube, busy_server):
    done = tfrun(*on_kubernetes("-w", 12, "-Cw", 0.05, "-Mw", 32), "--", "echo up")
    assert (done.returncode, done.stdout.count("up")) == (0, 12), done.stderr
