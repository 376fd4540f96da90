"""Examples that train on a genuine Kubernetes, in an image that no registry has seen.

TensorFlow is not in the image but on the nodes, where a volume finds it.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment, tfrun
from tests.elastic_training import assert_no_step_is_lost

from .conftest import IMAGE
from .pods import on_kubernetes

pytestmark = pytest.mark.rig("its nodes have the files of this machine")

HERE = Path(__file__).parents[3]
FOUND = importlib.util.find_spec("tensorflow")
if FOUND is None:
    pytest.skip("the examples need TensorFlow: pip install tensorflow", allow_module_level=True)
PACKAGES = Path(FOUND.origin).parents[1]
LENT = (
    *("-V", f"{PACKAGES}:/packages:ro", "-V", f"{HERE}/tfmesos:/own/tfmesos:ro"),
    *("--env", "PYTHONPATH=/packages:/own", "--env", "TF_CPP_MIN_LOG_LEVEL=3"),
)
SIZES = ("-Cw", 1, "-Mw", "1G", "-Cs", 1, "-Ms", "1G")


def assert_learnt(done):
    assert done.returncode == 0, done.stdout + done.stderr
    (accuracy,) = re.findall(r"test accuracy: (\S+)", done.stdout)
    assert float(accuracy) >= 0.9


def test_mnist_replica_trains(kube):
    command = (
        "python3 mnist_replica.py --ps_hosts {ps_hosts} --worker_hosts {worker_hosts}"
        " --job_name {job_name} --worker_index {task_index} --steps 200"
    )
    words = on_kubernetes("-w", 2, "-s", 1, *SIZES, *LENT, f"--ship={HERE}/examples/mnist")
    assert_learnt(tfrun(*words, "--", *command.split()))


def test_a_chief_trains_with_bare_parameter_servers_and_workers(kube):
    jobs = ("--chief", "-w", 2, "-s", 1, "--serve", "ps,worker")
    words = on_kubernetes(*jobs, *SIZES, *LENT, f"--ship={HERE}/examples")
    assert_learnt(tfrun(*words, "--", "python3", "parameter_server.py", "--steps", "200"))


def test_an_elastic_training_loses_no_step_when_its_workers_become_four_and_then_one(
    kube, tmp_path
):
    program = ("python3", "elastic.py", "--model_dir", "/shared")
    files = ("-V", f"{tmp_path}:/shared", f"--ship={HERE}/examples")
    assert_no_step_is_lost(*on_kubernetes(*SIZES, *LENT, *files), program=program)


FROM_PYTHON = """
from tfmesos import Job, cluster
jobs = [Job("ps", 1, cpus=1), Job("worker", 1, cpus=1)]
lent = {"volumes": %r, "env": %r}
with cluster(jobs, master="k8s://", image=%r, wait=False, quiet=True, **lent) as c:
    import tensorflow as tf
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            a = tf.constant(42)
        with tf.compat.v1.Session(c.targets["/job:worker/task:0"]) as session:
            print(session.run(a))
"""


def test_a_program_uses_a_cluster_of_bare_servers(kube):
    """The pods are in reach of this machine, as they are from within the cluster."""
    volumes, env = LENT[1:4:2], dict(word.split("=") for word in LENT[5::2])
    program = FROM_PYTHON % ([*volumes], env, IMAGE)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
