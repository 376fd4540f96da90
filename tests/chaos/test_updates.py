"""A few runs that are updated under random faults; updates.py says how to have more."""

from __future__ import annotations

from collections import Counter

import pytest

from .updates import findings

SEEDS = (1, 2, 3)


@pytest.mark.bound(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_update_under_random_faults_leaves_nothing_and_ends_with_no_wrong_0(seed, bound):
    bound.struck()
    assert findings(seed, Counter()) == []
