"""The jobs of DC/OS TensorFlow's tutorials, from their options.json, on a genuine Mesos."""

from __future__ import annotations

import importlib.util
import re

import pytest

from tests.commands import tfrun
from tests.web import web_server

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("the jobs need TensorFlow: pip install tensorflow", allow_module_level=True)

from tests import dcos_jobs as jobs

from .cluster import wait_until

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture
def url():
    with web_server({"/archive/master.zip": jobs.archive()}) as server:
        yield f"{server}/archive/master.zip"


@pytest.fixture
def master(mesos):
    """With two agents; the port of all workers is one that both offer."""
    master = mesos.start_master()
    for number in (1, 2):
        mesos.start_agent(f"node-{number}", "cpus:2;mem:2048")
    master.wait_for("node-1", "node-2")
    return master


def test_mnist_learns_and_leaves_summaries_and_checkpoints(master, url, tmp_path):
    context, shared = {"learning_rate": 0.5, "steps": 200}, tmp_path / "shared"
    path = jobs.options_file(tmp_path, "mnist", url, context=context, shared=shared)
    done = tfrun(path, "-m", master.address, env=QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"worker \d reads (\S+) of the digits", done.stdout)
    assert len(found) == 2 and min(map(float, found)) >= 0.85
    assert list(shared.glob("events.out.tfevents.*"))
    wait_until("the master has removed it", lambda: completed(master))
    assert [framework["name"] for framework in completed(master)] == ["mnist"]


def completed(master):
    return master.get("/master/state")["completed_frameworks"]


def test_the_poets_retrain_their_model_into_the_shared_filesystem(master, url, tmp_path):
    jobs.make_flowers(tmp_path / "flowers")
    path = jobs.options_file(
        *(tmp_path, "poets", url),
        context=jobs.poets_context(tmp_path / "flowers", tmp_path / "models"),
        shared=tmp_path / "shared",
        worker={"count": 1},
        parameter_server={"count": 0},
    )
    done = tfrun(path, "-m", master.address, env=QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[worker:0] Final test accuracy = 100.0% (N=15)" in done.stdout.splitlines()
    assert (tmp_path / "shared" / "retrained_graph.pb").stat().st_size > 100
