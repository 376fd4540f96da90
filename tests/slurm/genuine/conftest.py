"""The cluster of these tests; each leaves it idle."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.mesos.genuine.conftest import unavailable

from .cluster import CannotRun, Slurm, check_accounting, check_machine


def started(*, has_accounting=False):
    try:
        check_machine()
        if has_accounting:
            check_accounting()
    except CannotRun as reason:
        unavailable(f"no genuine Slurm can run here: {reason}")
    with tempfile.TemporaryDirectory(prefix="tfmesos-slurm-") as place:
        with Slurm(Path(place) / "slurm", has_accounting=has_accounting) as slurm:
            yield slurm


@pytest.fixture(scope="session")
def cluster():
    yield from started()


@pytest.fixture(scope="module")
def cluster_with_accounts():
    yield from started(has_accounting=True)


@pytest.fixture
def slurm(cluster, monkeypatch):
    """The cluster, found by Slurm's commands; the test fails if it leaves a job or a process.

    The cluster is an argument, so that it is there before the test looks what it may leave.
    """
    yield from lent(cluster, monkeypatch)


@pytest.fixture
def accounts(cluster_with_accounts, monkeypatch):
    """The same of another cluster, which holds jobs to accounts and QOS."""
    yield from lent(cluster_with_accounts, monkeypatch)


def lent(cluster, monkeypatch):
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    cluster.wait_for_nodes()  # a controller that was restarted has them down at first
    yield cluster
    try:
        cluster.wait_until_idle()
    finally:
        if not cluster.is_idle():
            cluster.clear()
