"""The owner of a run acts inside its tasks on a Mesos cluster as on one machine."""

from __future__ import annotations

import sys

from tests.whole.boards import check_board
from tests.whole.entering import check_failure, check_inside, check_unfit_node


def test_exec_cp_forward_and_stacks_reach_a_task_on_a_cluster(master, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_inside("-m", master, tmp_path=tmp_path, python=sys.executable, has_editor=True)


def test_a_task_that_fails_is_held_and_a_node_that_is_not_fit_fails_the_run(master, tmp_path):
    check_failure("-m", master, tmp_path=tmp_path)


def test_a_tensorboard_is_at_a_port_of_the_launcher_alone(master, tmp_path):
    check_board("-m", master, place=tmp_path)


def test_a_node_that_fails_its_check_is_left_out_and_another_one_is_used(three_nodes, tmp_path):
    check_unfit_node("-m", three_nodes, name="MESOS_SLAVE_ID", tmp_path=tmp_path)
