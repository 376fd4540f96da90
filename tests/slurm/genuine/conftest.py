"""The cluster of these tests; each leaves it idle."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.mesos.genuine.conftest import unavailable

from .cluster import CannotRun, Slurm, check_machine


@pytest.fixture(scope="session")
def cluster():
    try:
        check_machine()
    except CannotRun as reason:
        unavailable(f"no genuine Slurm can run here: {reason}")
    with tempfile.TemporaryDirectory(prefix="tfmesos-slurm-") as place:
        with Slurm(Path(place) / "slurm") as slurm:
            yield slurm


@pytest.fixture
def slurm(cluster, monkeypatch):
    """The cluster, found by Slurm's commands; the test fails if it leaves a job or a process.

    The cluster is an argument, so that it is there before the test looks what it may leave.
    """
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    cluster.wait_for_nodes()  # a controller that was restarted has them down at first
    yield cluster
    try:
        cluster.wait_until_idle()
    finally:
        if not cluster.is_idle():
            cluster.clear()
