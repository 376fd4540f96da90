"""A few launchers that are killed at random moments; ``tests/chaos/takeover.py`` has more."""

from __future__ import annotations

import pytest

from tests.chaos.takeover import OnKubernetes, Plan, findings

from .conftest import IMAGE

pytestmark = pytest.mark.rig("its nodes have the files of this machine")

SEEDS = range(16, 20)  # in all phases in which there are tasks
WORKERS = 3


class InNamespace(OnKubernetes):
    """That of one test."""

    def __init__(self, kube):
        super().__init__(IMAGE)
        self._kube = kube

    def left(self):
        return self._kube.left()


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: Plan.of(seed).phase)
def test_whenever_a_launcher_is_killed_the_next_one_goes_on_and_no_line_is_lost(kube, seed):
    assert findings(seed, InNamespace(kube), WORKERS) == []
