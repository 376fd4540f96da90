"""Runs that each need two thirds of a cluster run one after the other, always."""

from __future__ import annotations

import itertools
import random
import time
from contextlib import ExitStack

import pytest

from tests.commands import finish, running_tfrun, standing_mesos

from .virtual import World

AGENT = "cpus:1;mem:1024"
NETWORKS = (0.002, 0.05, 1.0)  # seconds a message may take; the last is as slow as Mesos's rounds


def contest(seed, *, agents, runs, within):
    """Let *runs* runs that each need two thirds of *agents* agents begin at about the same time."""
    world = World(seed, *[AGENT] * agents, delay=NETWORKS[seed % len(NETWORKS)])
    uniform = world.random.uniform
    begun = [
        world.start_run(f"run-{n}", uniform(0, 2), uniform(0, 3), num=agents * 2 // 3)
        for n in range(runs)
    ]
    world.wait_for_all(within)
    assert [run.outcome.error for run in begun] == [None] * runs
    in_order = sorted(begun, key=lambda run: run.started)
    for one, next_one in itertools.pairwise(in_order):
        assert one.finished <= next_one.started


@pytest.mark.bound(30)
def test_two_runs_fifty_times_with_random_timing_in_virtual_time():
    for seed in range(50):
        contest(seed, agents=(3, 6)[seed % 2], runs=2, within=60)


@pytest.mark.bound(60)
def test_four_runs_fifty_times_with_random_timing_in_virtual_time():
    for seed in range(50):
        contest(seed, agents=(3, 6)[seed % 2], runs=4, within=180)


@pytest.mark.bound(30)
def test_eight_runs_with_random_timing_in_virtual_time():
    for seed in range(6):
        contest(seed, agents=6, runs=8, within=400)


@pytest.mark.bound(60)
def test_two_runs_and_then_three_on_a_real_cluster(bound):
    with standing_mesos("--agents", "3", "--resources", AGENT) as url, ExitStack() as stack:
        bound.struck()
        for number in (2, 2, 3):
            runs = []
            for _ in range(number):
                time.sleep(random.uniform(0, 0.3))  # the random timing; nothing waits for it
                command = ("-m", url, "-w", 2, "--", "sleep", "0.1")
                runs.append(stack.enter_context(running_tfrun(*command)))
            for run in runs:
                _, err = finish(run, bound.left)
                assert run.returncode == 0, err
