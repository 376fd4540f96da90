"""The cluster of these tests, and a namespace for each of them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.docker.engine import CannotRun as NoImage
from tests.docker.engine import root_file_system
from tests.mesos.genuine.cluster import wait_until
from tests.mesos.genuine.conftest import unavailable

from . import build
from .api import Api
from .cluster import Kubernetes, check_machine
from .namespace import Namespace
from .node import NodeSpec

SETTING_UP = 5400.0  # seconds; the first test builds Kubernetes and the image, if nobody has before
STANDING = os.environ.get("TFMESOS_TEST_KUBERNETES")
GIVEN = os.environ.get("TFMESOS_TEST_KUBECONFIG")  # of an administrator, of any cluster
IMAGE = (os.environ.get("TFMESOS_TEST_IMAGE") if GIVEN else "") or "tfmesos-tests/base:1"
NODES = (
    NodeSpec("node-1", {"rack": "r1"}),
    NodeSpec("node-2", {"rack": "r2"}),
    NodeSpec("node-3", {"rack": "r2"}),
)


def pytest_configure(config):
    config.addinivalue_line("markers", "rig(why): the test needs our own nodes")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(SETTING_UP))
            if GIVEN and (mark := item.get_closest_marker("rig")):
                item.add_marker(
                    pytest.mark.skip(f"only on the cluster of the tests: {mark.args[0]}")
                )


def three_nodes(directory: Path) -> Kubernetes:
    """Ready to be started."""
    check_machine()
    programs = build.programs()
    return Kubernetes(programs, directory, NODES, {IMAGE: root_file_system()})


def flattened(kubeconfig: str) -> dict[str, Any]:
    """Its current context alone, called admin, with all files that it names inside."""
    view = ["kubectl", "config", "view", "--kubeconfig", kubeconfig, "--raw", "--flatten"]
    text = subprocess.run([*view, "--minify", "-o", "json"], check=True, capture_output=True).stdout
    config = json.loads(text)
    config["contexts"][0]["name"] = config["current-context"] = "admin"
    return config


@pytest.fixture(scope="session")
def cluster():
    if GIVEN:
        pytest.skip("it breaks parts of the cluster, and TFMESOS_TEST_KUBECONFIG names another's")
    with tempfile.TemporaryDirectory(prefix="tfmesos-kubernetes-") as place:
        try:
            made = three_nodes(Path(place) / "cluster")
        except (build.CannotRun, NoImage) as reason:
            unavailable(f"no genuine Kubernetes can run here: {reason}")
        with made:
            yield made


@pytest.fixture(scope="session")
def admin_config(request, tmp_path_factory) -> Path:
    """The kubeconfig of the administrator, of the cluster that stands or of one that we start."""
    if GIVEN:
        path = tmp_path_factory.mktemp("given") / "kubeconfig"
        path.write_text(json.dumps(flattened(GIVEN)))
        return path
    if STANDING:
        return Path(STANDING) / "kubeconfig"
    return request.getfixturevalue("cluster").kubeconfig


@pytest.fixture(scope="session")
def admin_api(admin_config) -> Api:
    return Api(admin_config, "admin")


@pytest.fixture
def own_cluster(cluster):
    """Our own, to break its daemons; all of them are ready after the test."""
    yield cluster
    cluster.wait_for_apiserver()
    cluster.wait_for_nodes()


@pytest.fixture
def kube(request, admin_config, tmp_path, monkeypatch):
    """A namespace of its own; the test fails if it leaves anything there.

    The cluster is an argument, so that it is there before the test looks what it may leave.
    """
    config = admin_config
    if "own_cluster" in request.fixturenames:
        config = request.getfixturevalue("own_cluster").kubeconfig
    namespace = Namespace(config, tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(namespace.kubeconfig))
    yield namespace
    try:
        wait_until("nothing is left in the namespace", lambda: not namespace.left())
    except AssertionError:
        assert namespace.left() == []
        raise
    finally:
        namespace.delete()
