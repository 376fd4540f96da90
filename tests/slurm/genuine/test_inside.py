"""The owner of a run acts inside its tasks on Slurm as on one machine."""

from __future__ import annotations

from tests.whole.boards import check_board

from .test_runs import ON_SLURM


def test_a_tensorboard_is_at_a_port_of_the_launcher_alone(slurm, tmp_path):
    check_board(*ON_SLURM, place=tmp_path)
