"""The owner of a run acts inside its containers as in any other task."""

from __future__ import annotations

from tests.whole.entering import check_inside, inside, lasting_run


def test_exec_cp_forward_and_stacks_reach_into_a_container(base, tmp_path):
    check_inside("-C", "docker", "--image", base, tmp_path=tmp_path)


def test_a_command_runs_in_the_container_of_its_task(base):
    with lasting_run("-C", "docker", "--image", base):
        done = inside("exec", "worker:0", "--", "test", "-e", "/.dockerenv")
        assert done.returncode == 0
