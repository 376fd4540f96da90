"""A launcher in a pod, started as the documentation says."""

from __future__ import annotations

import importlib.util
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.commands import read_until
from tests.mesos.genuine.cluster import wait_until

from .conftest import IMAGE
from .namespace import documented
from .pods import has_ended, is_running, until

pytestmark = pytest.mark.rig("its nodes have the files of this machine")

HERE = Path(__file__).parents[3]
PACKAGES = Path(importlib.util.find_spec("h11").origin).parents[1]
SCRIPT = '#!/bin/sh\nexec python3 -m tfmesos "$@"\n'


@pytest.fixture
def launch(kube, tmp_path):
    """Do all that the page says, with this command in place of its own.

    The image has no tfmesos, but the nodes have, where volumes find it.
    """
    (tmp_path / "tfrun").write_text(SCRIPT)
    (tmp_path / "tfrun").chmod(0o755)

    def start(*args, keeps_state=False):
        pod = yaml.safe_load(documented("launcher").replace("me/train", IMAGE))
        (container,) = pod["spec"]["containers"]
        container["image"] = IMAGE
        container["args"] = [*args] or container["args"]
        lend(pod["spec"], tmp_path / "tfrun")
        if keeps_state:
            keep_state(pod["spec"])
        (tmp_path / "launcher.yaml").write_text(yaml.safe_dump(pod))
        for line in documented("account").replace("NAMESPACE", kube.name).splitlines():
            done = kube.kubectl(*shlex.split(line)[1:], cwd=tmp_path)
            assert done.returncode == 0, done.stderr

    yield start
    kube.kubectl("delete", "pod", "training", "--ignore-not-found", "--wait=false")


def lend(spec, script):
    places = {
        "packages": (PACKAGES, "/packages"),
        "own": (HERE / "tfmesos", "/own/tfmesos"),
        "script": (script, "/usr/local/bin/tfrun"),
    }
    (container,) = spec["containers"]
    for where, name, more in (
        (spec, "volumes", [host_path(name, path) for name, (path, _) in places.items()]),
        (container, "env", [{"name": "PYTHONPATH", "value": "/own:/packages"}]),
        (container, "volumeMounts", [mount(name, place) for name, (_, place) in places.items()]),
    ):
        where[name] = [*where.get(name, []), *more]


def host_path(name, path):
    return {"name": name, "hostPath": {"path": str(path)}}


def mount(name, place):
    return {"name": name, "mountPath": place, "readOnly": True}


def keep_state(spec):
    """On the volume of the page, as a user who is not its owner."""
    state = yaml.safe_load(documented("state"))
    spec["volumes"] += state["volumes"]
    spec["initContainers"] = [{**it, "image": IMAGE} for it in state["initContainers"]]
    (container,), (more,) = spec["containers"], state["containers"]
    for name in ("env", "volumeMounts"):
        container[name] += more[name]
    container["securityContext"] = {"runAsUser": 65534}


def test_a_pod_starts_a_run_as_the_documentation_says(kube, launch):
    launch()
    ended = until(kube, "training", has_ended)
    said = kube.kubectl("logs", "training").stdout
    assert ended["status"]["phase"] == "Succeeded", said
    lines = [line for line in said.splitlines() if line.startswith("[worker:")]
    hosts = lines[0].rpartition(" of ")[2]
    assert sorted(lines) == [f"[worker:{i}] worker {i} of {hosts}" for i in range(2)]
    wait_until("only the launcher is left", lambda: kube.left() == ["pods/training"])


def test_a_launcher_whose_pod_is_deleted_ends_its_tasks(kube, launch):
    script = "trap 'echo cleaning; exit' TERM; echo up; while :; do sleep 0.05; done"
    launch("sh", "-c", script, keeps_state=True)
    until(kube, "training", is_running)
    follow = ("kubectl", "--kubeconfig", str(kube.admin_config), "-n", kube.name, "logs", "-f")
    with subprocess.Popen([*follow, "training"], stdout=subprocess.PIPE, text=True) as logs:
        read_until(logs.stdout, "[worker:0] up", "[worker:1] up")
        wait_until("it is written down", lambda: status(kube).count("running") >= 2)
        assert kube.kubectl("delete", "pod", "training", "--wait=false").returncode == 0
        rest = logs.stdout.read()
    assert "[worker:0] cleaning\n" in rest and "[worker:1] cleaning\n" in rest
    wait_until("nothing is left", lambda: not kube.left())


def status(kube):
    return kube.kubectl("exec", "training", "--", "tfrun", "status").stdout
