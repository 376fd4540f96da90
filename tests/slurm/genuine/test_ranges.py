"""Runs on a genuine Slurm that ask for a range of workers."""

from __future__ import annotations

import sys

from tests.commands import finish, read_until, read_until_all_are_of, running_tfrun

from .test_runs import ON_SLURM

SAYS = "echo $TFMESOS_GENERATION of $WORLD_SIZE; exec sleep 600"


def test_a_range_begins_with_what_there_is_loses_a_node_and_grows_when_it_is_back(slurm):
    size = ("-w", "2:8", "-Cw", 2, "-Mw", 64)  # two of them on each of three nodes
    policy = ("--restart-policy", "all", "--grow-every", 1)
    with running_tfrun(*ON_SLURM, *size, *policy, "--", "sh", "-c", SAYS) as run:
        read_until(run.stdout, *(f"[worker:{n}] 0 of 6" for n in range(6)))
        slurm.kill_node("n2")
        try:
            read_until_all_are_of(4, run)
        finally:
            slurm.give_back_node("n2")
        read_until_all_are_of(6, run)
        run.terminate()
        _, err = finish(run)
    assert "6 of up to 8 worker tasks" in err and "4 of up to 8 worker tasks" in err
    assert "there is room for 1 more task" in err


def test_a_range_begins_with_what_there_is_room_for_in_an_allocation(slurm):
    words = ("salloc", "--ntasks=5", "--cpus-per-task=1", "--mem-per-cpu=64M", "--quiet")
    size = ("-m", "slurm://", "-w", "2:8", "-Cw", "1", "-Mw", "64")
    done = slurm.run(*words, sys.executable, "-m", "tfmesos", *size, "--", "echo of $WORLD_SIZE")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[worker:{n}] of 5" for n in range(5)]
    assert "5 of up to 8 worker tasks" in done.stderr
