"""Our own job files on a genuine Mesos: jobs of several shapes, and ports out of offers."""

from __future__ import annotations

import pytest

from tests.commands import lines, tfrun
from tests.ports import offered_ports

FILE = """
cmd: echo {{job_name}}:{{task_index}} $TFMESOS_PORT $RANK/$WORLD_SIZE
jobs:
  big_worker: {{mem: 128M, task_type: worker, port: {wanted}}}
  worker: {{mem: 64, num: 2}}
  board: {{mem: 64, cmd: 'echo "${{TF_CONFIG-no config}}"'}}
"""


@pytest.fixture
def ports():
    return offered_ports()


@pytest.fixture
def master(mesos, ports):
    mesos.start_master()
    mesos.start_agent("node-1", f"cpus:4;mem:2048;{ports}")
    mesos.master.wait_for("node-1")
    return mesos.master.address


def test_jobs_of_several_shapes_are_one_cluster_and_a_wanted_port_is_had(master, ports, tmp_path):
    last = ports.rstrip("]").split("-")[1]
    file = tmp_path / "job.yaml"
    file.write_text(FILE.format(wanted=last))
    done = tfrun(file, "-m", master)
    assert done.returncode == 0, done.stderr
    shown = dict(line.split("] ") for line in lines(done.stdout))
    assert shown["[big_worker:0"] == f"worker:0 {last} 0/3"
    assert [shown[f"[worker:{n}"].split()[::2] for n in (0, 1)] == [
        ["worker:1", "1/3"],
        ["worker:2", "2/3"],
    ]
    assert shown["[board:0"] == "no config"


def test_a_port_that_no_agent_offers_gives_way_or_is_refused_with_the_reason(master, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text('cmd: "true"\njobs: {worker: {mem: 64, port: 2222}}')
    done = tfrun(file, "-m", master)
    assert done.returncode == 0 and "its node does not offer 2222" in done.stderr
    file.write_text('cmd: "true"\njobs: {worker: {mem: 64, port: "=2222"}}')
    done = tfrun(file, "-m", master)
    assert done.returncode == 75
    assert "worker:0 requires port 2222, which no agent offers" in done.stderr
