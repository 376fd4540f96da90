"""What the operator of a Mesos sees of runs that are over."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections import Counter

from tests.bounds import HANG
from tests.commands import environment, finish, needs_tensorflow, read_until, running_tfrun, tfrun

from .cluster import wait_until

FOREVER = "echo up; while :; do sleep 0.05; done"


def states(master):
    """The task states of the only framework that has ended, and how many tasks have each."""
    wait_until("the master has removed it", lambda: completed(master))
    (framework,) = completed(master)
    return Counter(task["state"] for task in framework["completed_tasks"])


def completed(master):
    """A master answers before it has done what it was asked for."""
    with urllib.request.urlopen(f"http://{master}/master/frameworks", timeout=HANG) as answer:
        return json.load(answer)["completed_frameworks"]


def test_tasks_that_ended_well_have_finished_for_the_master_too(three_nodes):
    done = tfrun("-m", three_nodes, "-w", 3, "-Mw", 512, "--", "true")
    assert done.returncode == 0, done.stderr
    assert states(three_nodes) == {"TASK_FINISHED": 3}


def test_parameter_servers_that_a_run_stops_have_not_failed(three_nodes):
    script = f"if [ {{job_name}} = ps ]; then {FOREVER}; fi"
    size = ("-w", 2, "-Mw", 512, "-s", 2, "-Ms", 512)
    done = tfrun("-m", three_nodes, *size, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert states(three_nodes) == {"TASK_FINISHED": 4}


def test_only_the_task_that_failed_has_failed(three_nodes):
    script = f"if [ {{task_index}} = 1 ]; then exit 3; fi; {FOREVER}"
    done = tfrun("-m", three_nodes, "-w", 3, "-Mw", 512, "--", "sh", "-c", script)
    assert done.returncode == 3, done.stderr
    assert states(three_nodes) == {"TASK_FINISHED": 2, "TASK_FAILED": 1}


def test_tasks_of_an_interrupted_run_have_not_failed(three_nodes):
    command = ("-m", three_nodes, "-w", 2, "-Mw", 512, "--", "sh", "-c", FOREVER)
    with running_tfrun(*command) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        run.terminate()
        finish(run)
    assert run.returncode == 143
    assert states(three_nodes) == {"TASK_FINISHED": 2}


SERVERS = (
    "import tfmesos\n"
    "job = tfmesos.Job('worker', 2, mem=512)\n"
    "with tfmesos.cluster([job], master={master!r}, quiet=True) as c:\n"
    "    print(c.targets)\n"
)


@needs_tensorflow
def test_servers_of_a_cluster_have_not_failed(three_nodes):
    command = [sys.executable, "-c", SERVERS.format(master=three_nodes)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert states(three_nodes) == {"TASK_FINISHED": 2}
