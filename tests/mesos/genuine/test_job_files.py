"""Files of TfJob and Marathon on a genuine Mesos, their tasks spread over three agents."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec

import pytest
import yaml

from tests.commands import needs_tensorboard, tfrun
from tests.jobfiles import PROGRAMS
from tests.jobfiles.marathon.groups import group
from tests.jobfiles.tfjob import tfjobs

if find_spec("tensorflow") is None:
    pytest.skip("the programs need TensorFlow: pip install tensorflow", allow_module_level=True)


@pytest.fixture
def master(mesos):
    mesos.start_master()
    for number in (1, 2, 3):
        mesos.start_agent(f"node-{number}", "cpus:2;mem:2048")
    mesos.master.wait_for("node-1", "node-2", "node-3")
    return mesos.master.address


def test_a_tf_job_of_the_first_version_runs(master, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tfjobs.example_job()))
    flags = ("-m", master, "--image", "", "--restart-policy", "never")
    done = tfrun(file, *flags, "--", sys.executable, PROGRAMS / "smoke.py")
    assert done.returncode == 0, done.stderr
    assert "[master:0] 4 tasks: 10" in done.stdout.splitlines()


def test_a_marathon_group_runs_without_a_marathon(master, tmp_path):
    file = tmp_path / "group.json"
    file.write_text(json.dumps(group(workers=2, servers=1, tensorboard=False, mem=1024)))
    once = ("--restart-policy", "never")
    done = tfrun(file, "-m", master, *once, "--", sys.executable, PROGRAMS / "replica.py")
    assert done.returncode == 0, done.stderr
    told = {line for line in done.stdout.splitlines() if " in /train" in line}
    assert told == {f"[worker:{n}] worker {n}: 2 in /train" for n in (0, 1)}


@needs_tensorboard
def test_tensorboard_runs_beside_a_tf_job(master, tmp_path):
    ask = [sys.executable, str(PROGRAMS / "ask_tensorboard.py"), "{tensorboard_hosts}"]
    job = tfjobs.tf_job(
        tfjobs.replica("MASTER", command=ask), tensorboard={"logDir": str(tmp_path)}
    )
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    done = tfrun(tmp_path / "job.yaml", "-m", master, "--image", "")
    assert done.returncode == 0, done.stderr
    assert "[master:0] 200 True" in done.stdout.splitlines()


@pytest.mark.parametrize(
    "job, code, said",
    [
        (tfjobs.azure_job(), 2, "spec.tensorboard.volumes[0].azureFile"),
        (tfjobs.gpu_job(), 75, "gpus"),
    ],
)
def test_what_no_agent_has_is_refused_with_the_reason(master, tmp_path, job, code, said):
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(job))
    done = tfrun(tmp_path / "job.yaml", "-m", master, "--image", "")
    assert done.returncode == code and said in done.stderr, done.stderr
