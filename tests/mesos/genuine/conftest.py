"""The masters that the tests run on: the embedded Mesos, a genuine one, and one that is given."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from tests.commands import EMBEDDED_MESOS, ROOT, environment
from tests.ports import offered_ports

from . import build
from .cluster import Mesos
from .zookeeper import check_installed, running_zookeeper

GIVEN = os.environ.get("TFMESOS_TEST_MASTER")
KINDS = ["embedded", "genuine", *(["given"] if GIVEN else [])]


@dataclass(frozen=True)
class Node:
    """An agent to be."""

    hostname: str
    resources: str
    attributes: str = ""

    @property
    def with_ports(self) -> str:
        return f"{self.resources};{offered_ports()}"


THREE_NODES = (
    Node("node-1", "cpus:1;mem:1024;disk:512", "rack:r1"),
    Node("node-2", "cpus:2;mem:2048;disk:512", "rack:r2"),
    Node("node-3", "cpus:3;mem:3072;disk:512", "rack:r2"),
)
Start = Callable[[Sequence[Node]], str]


@pytest.fixture(scope="session")
def rig():
    """The genuine Mesos, ready to be started."""
    try:
        return build.rig()
    except build.CannotRun as reason:
        unavailable(f"no genuine Mesos can run here: {reason}")


def unavailable(reason: str) -> None:
    """Skip, in plain sight; but where all must be proven nothing is skipped."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def mesos(rig, tmp_path):
    """A genuine Mesos without master or agents yet; whatever a test starts ends with it."""
    with Mesos(rig, tmp_path / "mesos") as mesos:
        yield mesos


@pytest.fixture(params=KINDS)
def start_master(request) -> Iterator[Start]:
    """Start a master with these agents; get its address."""
    with ExitStack() as stack:

        def start(nodes: Sequence[Node]) -> str:
            if request.param == "genuine":
                return genuine(request.getfixturevalue("mesos"), nodes)
            if request.param == "embedded":
                return stack.enter_context(embedded(nodes))
            pytest.skip("the given master has agents of its own")

        yield start


@pytest.fixture
def three_nodes(start_master: Start) -> str:
    """The address of a master with three agents of different sizes."""
    return start_master(THREE_NODES)


@pytest.fixture
def master(request, start_master: Start) -> str:
    """The address of any master; if it is given, its agents are on this machine, too."""
    is_given = request.node.callspec.params["start_master"] == "given"
    return GIVEN if is_given else start_master(THREE_NODES)


def genuine(mesos: Mesos, nodes: Sequence[Node]) -> str:
    master = mesos.start_master()
    for node in nodes:
        mesos.start_agent(node.hostname, node.with_ports, node.attributes)
    master.wait_for(*(node.hostname for node in nodes))
    return master.address


@contextmanager
def embedded(nodes: Sequence[Node]) -> Iterator[str]:
    flags = [f"--agents={len(nodes)}"]
    for node in nodes:
        flags += [f"--hostname={node.hostname}", f"--resources={node.with_ports}"]
        flags += [f"--attributes={node.attributes}"]
    command = [*EMBEDDED_MESOS, "--port=0", *flags]
    options = {"stdout": subprocess.PIPE, "text": True, "env": environment(), "cwd": ROOT}
    with subprocess.Popen(command, **options) as process:
        try:
            yield re.search(r"http://(\S+)", process.stdout.readline())[1]
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.fixture
def zookeeper(tmp_path):
    """The address of a ZooKeeper."""
    try:
        check_installed()
    except build.CannotRun as reason:
        unavailable(f"no election can be held here: {reason}")
    with running_zookeeper(tmp_path / "zookeeper") as address:
        yield address
