"""What the other tests here stand on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.bounds import LEAVING
from tests.conftest import is_alive
from tests.lasting import PIDS
from tests.processes import commands_below

from . import build
from .api import Refused
from .cluster import Kubernetes, check_machine
from .namespace import wait_for_account
from .node import PAUSE, NodeSpec
from .pods import create, has_ended, is_running, pod, remove, state, until

pytestmark = pytest.mark.rig("it is about them")


def test_three_nodes_of_known_sizes_are_ready(kube):
    nodes = {it["metadata"]["name"]: it for it in kube.admin.items("/api/v1/nodes")}
    assert sorted(nodes) == ["node-1", "node-2", "node-3"]
    for node in nodes.values():
        conditions = {it["type"]: it["status"] for it in node["status"]["conditions"]}
        assert conditions["Ready"] == "True"
        assert node["status"]["allocatable"]["cpu"] == "2"
        assert node["status"]["allocatable"]["memory"] == "4Gi"


def test_a_pod_runs_and_its_log_and_its_exit_code_can_be_read(kube):
    create(kube, pod("one", "python3", "-c", "print('hello'); exit(3)"))
    ended = state(until(kube, "one", has_ended))["terminated"]
    assert ended["exitCode"] == 3
    assert kube.user.get(f"{kube.path}/pods/one/log") == "hello\n"
    remove(kube, "one")


def test_pods_of_two_nodes_reach_each_other_by_their_addresses(kube):
    serve = "import socket; s = socket.create_server(('', 7000)); s.accept()[0].sendall(b'hello')"
    create(kube, pod("server", "python3", "-c", serve, nodeSelector={"rack": "r1"}))
    address = until(kube, "server", is_running)["status"]["podIP"]
    dial = (
        "import socket, time\n"
        "while True:\n"
        "  try: print(socket.create_connection(('%s', 7000)).recv(9).decode()); break\n"
        "  except ConnectionRefusedError: time.sleep(0.1)\n"
    )
    create(kube, pod("client", "python3", "-c", dial % address, nodeSelector={"rack": "r2"}))
    until(kube, "client", has_ended)
    assert kube.user.get(f"{kube.path}/pods/client/log") == "hello\n"
    remove(kube, "server", "client")


def test_the_user_of_a_namespace_has_no_right_elsewhere(kube):
    for path in ("/api/v1/nodes", "/api/v1/namespaces/default/pods", f"{kube.path}/events"):
        with pytest.raises(Refused, match="is forbidden") as refused:
            kube.user.get(path)
        assert refused.value.status == 403


def test_what_a_test_leaves_in_its_namespace_is_named(kube):
    kube.user.post(f"{kube.path}/configmaps", {"metadata": {"name": "forgotten"}})
    assert kube.left() == ["configmaps/forgotten"]
    kube.user.delete(f"{kube.path}/configmaps/forgotten")
    assert kube.left() == []


def test_without_root_or_a_program_there_is_a_reason_and_a_way_out(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(build.CannotRun, match="nodes need root"):
        check_machine()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(build.CannotRun, match=r"dockerd is missing: apt-get install docker\.io"):
        check_machine()
    with pytest.raises(build.CannotRun, match="dpkg-source is missing: apt-get install dpkg-dev"):
        build.check_machine()


def test_a_cluster_leaves_nothing(admin_config):
    """No process, not even that of a pod, no mount, no network, no cgroup and no directory."""
    directory = Path(f"/tmp/k8s-{os.getpid()}")  # short: it holds sockets
    others = set(PIDS)
    with Kubernetes(build.programs(), directory, [NodeSpec("only")], {}) as cluster:
        run_a_pod(cluster)
        found = [it for pid in PIDS - others for it in commands_below(pid)]
        processes = [*map(psutil.Process, PIDS - others), *(it for it, _ in found)]
        commands = {words[0] for _, words in found if words}
        assert {"/pause", "dockerd", str(cluster.programs / "etcd")} <= commands
        assert left_by(cluster.link) == {"link", "cgroup"}
    assert not any(is_alive(it) for it in psutil.wait_procs(processes, LEAVING)[1])
    assert others == PIDS
    assert left_by(cluster.link) == set() and not directory.exists()
    assert str(directory) not in Path("/proc/mounts").read_text()


def run_a_pod(cluster: Kubernetes) -> None:
    pods = "/api/v1/namespaces/default/pods"
    wait_for_account(cluster.admin, "default")
    cluster.admin.post(pods, pod("paused", "/pause", container={"image": PAUSE}))
    next(event for event in cluster.admin.watch(pods) if is_running(event["object"]))


def left_by(link: str) -> set[str]:
    devices = subprocess.run(["ip", "link", "show", link], capture_output=True)
    groups = [*Path("/sys/fs/cgroup").glob(f"*/{link}"), *Path("/sys/fs/cgroup").glob(link)]
    return {*(["link"] if devices.returncode == 0 else []), *(["cgroup"] if groups else [])}
