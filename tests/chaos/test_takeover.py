"""A few launchers that are killed at random moments; takeover.py says how to have more."""

from __future__ import annotations

import pytest

from .takeover import embedded_mesos, findings, genuine_mesos, genuine_slurm

EMBEDDED, GENUINE, SLURM = range(9), range(9, 12), range(12, 17)
WORKERS = 3


@pytest.mark.bound(300)
@pytest.mark.parametrize("first", EMBEDDED[::3])
def test_whenever_a_launcher_is_killed_the_next_one_goes_on_and_no_line_is_lost(first, bound):
    with embedded_mesos() as mesos:
        bound.struck()
        found = {seed: findings(seed, mesos, WORKERS) for seed in range(first, first + 3)}
    assert {seed: problems for seed, problems in found.items() if problems} == {}


@pytest.mark.bound(300)
def test_the_same_on_a_genuine_mesos(bound):
    from tests.mesos.genuine import build
    from tests.mesos.genuine.conftest import unavailable

    try:
        build.rig()
    except build.CannotRun as reason:
        unavailable(f"no genuine Mesos can run here: {reason}")
    with genuine_mesos() as mesos:
        bound.struck()
        found = {seed: findings(seed, mesos, WORKERS) for seed in GENUINE}
    assert {seed: problems for seed, problems in found.items() if problems} == {}


@pytest.mark.bound(300)
def test_the_same_on_a_genuine_slurm(bound):
    from tests.mesos.genuine.conftest import unavailable
    from tests.slurm.genuine.cluster import CannotRun, check_machine

    try:
        check_machine()
    except CannotRun as reason:
        unavailable(f"no genuine Slurm can run here: {reason}")
    with genuine_slurm() as slurm:
        bound.struck()
        found = {seed: findings(seed, slurm, WORKERS) for seed in SLURM}
    assert {seed: problems for seed, problems in found.items() if problems} == {}
