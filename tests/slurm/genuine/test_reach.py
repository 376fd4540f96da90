"""Nodes that do not reach the launcher: because it is gone, or at another address."""

from __future__ import annotations

import subprocess
import sys

from tests.commands import environment, finish, read_until, running_tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_runs import ON_SLURM, SMALL, blocked
from .test_takeover import kill, the_lost_run

# Its runners look for it for a second only before they say that nobody is there.
HASTY = (
    "import sys, tfmesos.shared.link_timeouts\n"
    "tfmesos.shared.link_timeouts.CONNECT_TIMEOUT = 1.0\n"
    "from tfmesos.tfrun import main\n"
    "sys.exit(main())"
)


def hasty_tfrun(*words):
    command = [sys.executable, "-c", HASTY, *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment(), **pipes)


def comments(slurm):
    return slurm.output("squeue", "-h", "-o", "%k")


def start_without_launcher(slurm, *words):
    """A job that waits when its launcher is killed, and is then started by Slurm."""
    with blocked(slurm):
        with hasty_tfrun(*ON_SLURM, "-w", 2, *SMALL, *words, "--", "echo done") as first:
            read_until(first.stderr, "is number 1 in its partition")
            kill(first)
        (job,) = [line.split()[0] for line in slurm.jobs() if line.endswith("PENDING")]
    wait_until("it runs", lambda: f"{job} RUNNING" in slurm.jobs())
    return job


def test_a_job_that_starts_without_a_launcher_waits_for_the_next_one(slurm, recorded_runs):
    job = start_without_launcher(slurm)
    wait_until("its runners found nobody", lambda: " 211 " in comments(slurm))
    wait_until("they try again", lambda: " 211 " not in comments(slurm))
    with running_tfrun("adopt", the_lost_run()) as second:
        read_until(second.stderr, "attached to")
        assert slurm.jobs() == [f"{job} RUNNING"]
        out, err = finish(second)
    assert second.returncode == 0 and out.count("done") == 2, err


def test_a_job_that_starts_without_a_launcher_ends_if_it_is_not_to_wait(slurm):
    """That nothing is left is what the fixture sees to."""
    start_without_launcher(slurm, "--survive", 0)
    slurm.wait_until_idle()


def test_an_address_that_no_node_reaches_ends_the_run_with_the_words_of_the_node(slurm):
    nowhere = "192.0.2.1:4711"  # belongs to nobody
    with hasty_tfrun(*ON_SLURM, "-w", 1, *SMALL, "--advertise", nowhere, "--", "true") as run:
        _, err = finish(run)
    assert run.returncode == 211, err
    assert f"the launcher at {nowhere} cannot be reached from this node" in err
