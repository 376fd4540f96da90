"""The owner of a run acts inside its containers as in any other task."""

from __future__ import annotations

import pytest

from tests.commands import standing_mesos
from tests.ports import offered_ports
from tests.whole.entering import check_failure, check_inside, inside, lasting_run


@pytest.fixture
def on_mesos(base):
    """Flags of a run in containers on a Mesos cluster."""
    with standing_mesos(f"--resources=cpus:4;mem:4096;{offered_ports()}") as url:
        yield ("-m", url.removeprefix("http://"), "-C", "DOCKER", "--image", base)


def test_exec_cp_forward_and_stacks_reach_into_a_container(base, tmp_path):
    check_inside("-C", "docker", "--image", base, tmp_path=tmp_path)


def test_a_command_runs_in_the_container_of_its_task(base):
    with lasting_run("-C", "docker", "--image", base):
        done = inside("exec", "worker:0", "--", "test", "-e", "/.dockerenv")
        assert done.returncode == 0


def test_a_container_whose_command_fails_is_held(base, tmp_path):
    check_failure("-C", "docker", "--image", base, tmp_path=tmp_path)


def test_exec_cp_forward_and_stacks_reach_into_a_container_on_mesos(on_mesos, tmp_path):
    check_inside(*on_mesos, tmp_path=tmp_path)


def test_a_container_on_mesos_whose_command_fails_is_held(on_mesos, tmp_path):
    check_failure(*on_mesos, tmp_path=tmp_path)
