"""The containers that the command lines of TFMesos's README ask for."""

import json

import pytest

from tests.commands import tfrun
from tests.engines.mesos.test_containers import IN_THE_IMAGE, assert_golden, in_short

REPLICA = (
    *("--", "python", "mnist_replica.py", "--ps_hosts", "{ps_hosts}"),
    *("--worker_hosts", "{worker_hosts}", "--job_name", "{job_name}"),
    *("--worker_index", "{task_index}"),
)


@pytest.mark.parametrize(
    "name, flags",
    [
        ("readme-replica", ("-w", 1, "-s", 1, "-V", "/nfs/mnist:/nfs/mnist")),
        ("readme-replica-gpus", ("-w", 1, "-s", 1, "-Gw", 1)),
    ],
)
def test_the_replica_commands_of_the_readme_ask_for_their_containers(name, flags):
    env = {**IN_THE_IMAGE, "LOGNAME": "me"}
    done = tfrun(*flags, "-n", "readme", "--dry-run=mesos", *REPLICA, env=env)
    assert done.returncode == 0, done.stderr
    assert_golden(name, in_short(json.loads(done.stdout)))
