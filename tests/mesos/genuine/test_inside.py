"""The owner of a run acts inside its tasks on a Mesos cluster as on one machine."""

from __future__ import annotations

import sys

from tests.commands import tfrun
from tests.whole.boards import check_board
from tests.whole.entering import check_failure, check_inside


def test_exec_cp_forward_and_stacks_reach_a_task_on_a_cluster(master, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_inside("-m", master, tmp_path=tmp_path, python=sys.executable)


def test_a_task_that_fails_is_held_and_a_node_that_is_not_fit_fails_the_run(master, tmp_path):
    check_failure("-m", master, tmp_path=tmp_path)


def test_a_tensorboard_is_at_a_port_of_the_launcher_alone(master, tmp_path):
    check_board("-m", master, place=tmp_path)


def test_a_node_that_fails_its_check_is_left_out_and_another_one_is_used(three_nodes, tmp_path):
    bad = tmp_path / "bad"
    check = f'[ -e {bad} ] || echo $MESOS_SLAVE_ID > {bad}; [ $MESOS_SLAVE_ID != "$(cat {bad})" ]'
    done = tfrun(
        *("-m", three_nodes, "-w", 1, "--check", f"{check} || ! echo no GPU here", "--"),
        "echo at $MESOS_SLAVE_ID",
    )
    assert done.returncode == 0, done.stderr
    assert "exited with 1: 'no GPU here'" in done.stderr
    assert done.stdout.split()[-1] not in ("", bad.read_text().strip())
