"""The examples of the README on a genuine Mesos, their tasks spread over three agents."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment, tfrun
from tests.elastic_training import assert_no_step_is_lost

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("the examples need TensorFlow: pip install tensorflow", allow_module_level=True)

EXAMPLES = Path(__file__).parents[3] / "examples"
REPLICA = (
    "python mnist_replica.py --ps_hosts {ps_hosts} --worker_hosts {worker_hosts}"
    " --job_name {job_name} --worker_index {task_index} --steps 300"
).split()


@pytest.fixture
def small_nodes(mesos):
    """A master with three agents, none of which has room for all tasks."""
    master = mesos.start_master()
    for number in (1, 2, 3):
        mesos.start_agent(f"node-{number}", "cpus:2;mem:2048")
    master.wait_for("node-1", "node-2", "node-3")
    return mesos


def agents_used(mesos):
    """How many tasks there were on each agent."""
    tasks = mesos.master.get("/master/tasks")["tasks"]
    hosts = [task["slave_id"] for task in tasks]
    return {host: hosts.count(host) for host in hosts}


def test_plus_prints_42(small_nodes):
    done = subprocess.run(
        [sys.executable, EXAMPLES / "plus.py", small_nodes.master.address],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
    assert sum(agents_used(small_nodes).values()) == 4 and len(agents_used(small_nodes)) >= 2


def test_mnist_replica_trains(small_nodes):
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    sizes = ("-w", 2, "-s", 1, "-Cw", 2, "-Cs", 2)
    done = tfrun(
        *("-m", small_nodes.master.address, *sizes, "--", *REPLICA),
        env={"PATH": path},
        cwd=EXAMPLES / "mnist",
    )
    assert done.returncode == 0, done.stderr
    (accuracy,) = re.findall(r"test accuracy: (\S+)", done.stdout)
    assert float(accuracy) >= 0.9
    assert list(agents_used(small_nodes).values()) == [1, 1, 1]


def test_an_elastic_training_loses_no_step_when_its_workers_become_four_and_then_one(
    small_nodes, tmp_path
):
    program = (sys.executable, EXAMPLES / "elastic.py", "--model_dir", tmp_path)
    sizes = ("-Cw", 1, "-Mw", "1G")
    assert_no_step_is_lost("-m", small_nodes.master.address, *sizes, program=program)
    assert len(agents_used(small_nodes)) == 3
