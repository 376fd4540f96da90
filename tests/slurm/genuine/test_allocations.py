"""tfrun within an allocation: its tasks become steps of that, and nothing else is touched."""

from __future__ import annotations

import re
import sys

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .test_runs import SMALL

TFRUN = (sys.executable, "-m", "tfmesos", "-m", "slurm://")


def within(slurm, size, *words):
    """tfrun with these words, in an allocation of this size."""
    command = ("salloc", *size, *TFRUN, *map(str, words))
    return slurm.run(*command)


def test_the_tasks_become_steps_of_the_allocation(slurm):
    script = "echo in $SLURM_JOB_ID on $SLURMD_NODENAME"
    done = within(slurm, ("-n4", "-N2"), "-w", 3, "-s", 1, *SMALL, "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    (number,) = re.findall(r"Granted job allocation (\d+)", done.stderr)
    assert re.findall(r"in (\d+) on", done.stdout) == [number] * 4


def test_what_does_not_fit_is_refused_with_numbers(slurm):
    done = within(slurm, ("-n2",), "-w", 3, *SMALL, "--", "true")
    assert done.returncode == 75, done.stderr
    assert "the tasks need 3 CPUs" in done.stderr and "has 2" in done.stderr


def test_the_allocation_outlives_a_run_that_fails_in_it(slurm):
    run = " ".join(map(str, (*TFRUN, "-w", 2, *SMALL, "--", "'exit 3'")))
    done = slurm.run("salloc", "-n2", "sh", "-c", f"{run}; echo code $?; srun -n2 echo still here")
    assert "code 3" in done.stdout and done.stdout.count("still here") == 2, done.stderr


@pytest.mark.parametrize("number", [2, 15])
def test_an_interrupted_run_ends_its_steps_and_leaves_the_allocation(slurm, number, monkeypatch):
    held = slurm.run("salloc", "--no-shell", "-n2")
    (job,) = re.findall(r"Granted job allocation (\d+)", held.stderr)
    monkeypatch.setenv("SLURM_JOB_ID", job)
    script = 'trap "echo cleaning; exit 0" TERM; echo up; while :; do sleep 0.05; done'
    with running_tfrun("-m", "slurm://", "-w", 2, *SMALL, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        run.send_signal(number)
        out, err = finish(run)
    assert run.returncode == 128 + number, err
    assert out.count("cleaning") == 2
    assert slurm.jobs() == [f"{job} RUNNING"]
    steps = ("squeue", "-h", "-s", "-j", job, "-o", "%i")  # a step is listed until its node is done
    wait_until("its steps have ended", lambda: f"{job}.0" not in slurm.output(*steps))
    slurm.run("scancel", job)


def test_a_heterogeneous_allocation_takes_each_task_where_it_fits(slurm):
    size = ("-n2", "--gpus-per-task=1", ":", "-n2", "-c2")
    script = "echo at $SLURMD_NODENAME gpu $CUDA_VISIBLE_DEVICES."
    words = ("-w", 2, "-Gw", 1, "-s", 2, "-Cs", 2, *SMALL, "--", "sh", "-c", script)
    done = within(slurm, size, *words)
    assert done.returncode == 0, done.stderr
    assert sorted(re.findall(r"worker:\d\] at n\d gpu (.*)\.", done.stdout)) == ["0", "1"]
    assert len(re.findall(r"ps:\d\] at n\d gpu \.", done.stdout)) == 2


@pytest.mark.parametrize("size", [("-n3",), ("-n3", "--gpus=2")])
def test_gpus_that_an_allocation_does_not_have_are_refused(slurm, size):
    done = within(slurm, size, "-w", 3, "-Gw", 1, *SMALL, "--", "true")
    assert done.returncode == 75, done.stderr
    assert "the tasks need 3 CPUs and 3 GPUs" in done.stderr


@pytest.mark.parametrize("job", ["4000000", "nonsense", "ended"])
def test_an_allocation_that_is_over_is_refused_in_one_line(slurm, job, monkeypatch):
    if job == "ended":
        job = slurm.run("sbatch", "--wait", "--parsable", "--wrap", "true", "-o/dev/null").stdout
    monkeypatch.setenv("SLURM_JOB_ID", job.strip())
    done = tfrun("-m", "slurm://", "-w", 1, *SMALL, "--", "true")
    assert done.returncode == 69 and done.stderr.count("\n") == 1, done.stderr
    assert f"job {job.strip()}, which SLURM_JOB_ID names, does not run" in done.stderr
