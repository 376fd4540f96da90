"""The examples of the README on a genuine Slurm, their tasks spread over three nodes."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from tests.commands import tfrun
from tests.elastic_training import assert_no_step_is_lost

from .test_runs import ON_SLURM

if importlib.util.find_spec("tensorflow") is None:
    pytest.skip("the examples need TensorFlow: pip install tensorflow", allow_module_level=True)

EXAMPLES = Path(__file__).parents[3] / "examples"
SIZES = ("-Cw", 2, "-Mw", "1G", "-Cs", 2, "-Ms", "1G")


def assert_learnt(done):
    assert done.returncode == 0, done.stdout + done.stderr
    (accuracy,) = re.findall(r"test accuracy: (\S+)", done.stdout)
    assert float(accuracy) >= 0.9


def test_mnist_replica_trains(slurm):
    command = (
        f"{sys.executable} mnist_replica.py --ps_hosts {{ps_hosts}} --worker_hosts {{worker_hosts}}"
        " --job_name {job_name} --worker_index {task_index} --steps 200"
    )
    words = ("-w", 2, "-s", 1, *SIZES, f"--ship={EXAMPLES}/mnist")
    assert_learnt(tfrun(*ON_SLURM, *words, "--", *command.split()))


def test_a_chief_trains_with_bare_parameter_servers_and_workers(slurm):
    words = ("--chief", "-w", 2, "-s", 1, "--serve", "ps,worker", *SIZES, f"--ship={EXAMPLES}")
    done = tfrun(*ON_SLURM, *words, "--", sys.executable, "parameter_server.py", "--steps", "200")
    assert_learnt(done)


def test_an_elastic_training_loses_no_step_when_its_workers_become_four_and_then_one(
    slurm, tmp_path
):
    program = (sys.executable, EXAMPLES / "elastic.py", "--model_dir", tmp_path)
    assert_no_step_is_lost(*ON_SLURM, "-Cw", 2, "-Mw", "1G", program=program)
