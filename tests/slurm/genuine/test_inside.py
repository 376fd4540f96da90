"""The owner of a run acts inside its tasks on Slurm as on one machine."""

from __future__ import annotations

import sys

from tests.whole.boards import check_board
from tests.whole.entering import check_failure, check_inside, check_unfit_node

from .test_runs import ON_SLURM


def test_exec_cp_forward_and_stacks_reach_a_task(slurm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_inside(*ON_SLURM, "-Mw", 256, tmp_path=tmp_path, python=sys.executable, has_editor=True)


def test_a_task_that_fails_is_held_and_a_node_that_is_not_fit_fails_the_run(slurm, tmp_path):
    check_failure(*ON_SLURM, "-Mw", 256, tmp_path=tmp_path)


def test_a_node_that_fails_its_check_at_once_is_left_out_and_another_one_is_used(slurm, tmp_path):
    check_unfit_node(*ON_SLURM, "-Mw", 256, name="SLURMD_NODENAME", tmp_path=tmp_path)


def test_a_tensorboard_is_at_a_port_of_the_launcher_alone(slurm, tmp_path):
    check_board(*ON_SLURM, place=tmp_path)
