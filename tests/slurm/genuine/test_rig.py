"""What the other tests here stand on."""

from __future__ import annotations

import os

import pytest

from . import cluster as rig


def test_three_nodes_take_a_job(slurm):
    done = slurm.run("srun", "--nodes=3", "sh", "-c", "echo $SLURMD_NODENAME")
    assert sorted(done.stdout.split()) == list(rig.NODES), done.stderr


def test_slurm_sees_no_process_of_this_machine_but_its_own(slurm):
    done = slurm.run(
        "srun", "--ntasks=1", "sh", "-c", "echo /proc/[0-9]*/exe | wc -w; cat /proc/1/cmdline"
    )
    number, first = done.stdout.split("\n", 1)
    assert int(number) < 60 and "init.py" in first, done.stderr
    assert len([pid for pid in os.listdir("/proc") if pid.isdigit()]) > 0


def test_without_slurm_there_is_a_reason_and_a_way_out(monkeypatch):
    monkeypatch.setattr(rig, "PATH", "/nonexistent")
    with pytest.raises(rig.CannotRun, match="slurmctld is missing: apt-get install slurmctld"):
        rig.check_machine()


def test_another_user_has_jobs_of_its_own(slurm):
    words = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = slurm.run(*words, "srun", "--chdir=/", "id", "-u")
    assert done.stdout == "65534\n", done.stderr
