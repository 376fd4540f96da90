"""GPUs as a Kubernetes counts them: a resource of a node that has a name and a number."""

from __future__ import annotations

import pytest

from tests.commands import finish, read_until, running_tfrun
from tests.mesos.genuine.cluster import wait_until

from .pods import SMALL, on_kubernetes

pytestmark = pytest.mark.rig("it says that one of them has GPUs")


@pytest.fixture
def gpus(kube):
    """Two GPUs on node-2, as its device plugin would tell; and two of another maker."""
    path = "/api/v1/nodes/node-2/status"
    names = ("nvidia.com/gpu", "amd.com/gpu")

    def set_to(number):
        amounts = dict.fromkeys(names, number)
        kube.admin.patch(path, {"status": {"capacity": amounts, "allocatable": amounts}})

    set_to("2")
    wait_until("it has them", lambda: names[0] in allocatable(kube))
    yield
    set_to(None)


def allocatable(kube):
    return kube.admin.get("/api/v1/nodes/node-2")["status"]["allocatable"]


@pytest.mark.parametrize(
    "flags, name", [((), "nvidia.com/gpu"), (("--gpu-resource", "amd.com/gpu"), "amd.com/gpu")]
)
def test_a_task_with_gpus_runs_where_they_are(kube, gpus, flags, name):
    command = on_kubernetes("-w", 2, *SMALL, "-Gw", 1, *flags)
    with running_tfrun(*command, "--", "echo up; exec sleep 600") as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        pods = kube.pods()
        run.terminate()
        finish(run)
    assert [pod["spec"]["nodeName"] for pod in pods] == ["node-2", "node-2"]
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["limits"][name] == "1"


def test_too_many_gpus_are_told_in_the_words_of_the_scheduler(kube, gpus):
    with running_tfrun(*on_kubernetes("-w", 3, *SMALL, "-Gw", 1), "--", "true") as run:
        read_until(run.stderr, "Insufficient nvidia.com/gpu")
        run.terminate()
        finish(run)
    assert run.returncode == 143
