"""The owner of a run acts inside its pods without the permission to exec into them."""

from __future__ import annotations

from tests.whole.entering import check_failure, check_inside

from .pods import SMALL, on_kubernetes


def test_exec_cp_forward_and_stacks_reach_into_a_pod(kube, tmp_path):
    check_inside(*on_kubernetes(*SMALL), tmp_path=tmp_path)


def test_a_pod_whose_command_fails_is_held(kube, tmp_path):
    check_failure(*on_kubernetes(*SMALL), tmp_path=tmp_path)
