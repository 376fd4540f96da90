"""A few runs with random faults while their owner is inside; inside.py says how to have more."""

from __future__ import annotations

import pytest

from .inside import FAULTS, Plan, Run, findings


@pytest.mark.bound(300)
@pytest.mark.parametrize("seed", range(4))
def test_random_faults_leave_nothing_of_commands_and_copies(seed, bound):
    bound.struck()
    assert findings(seed) == []


@pytest.mark.bound(100)
@pytest.mark.parametrize("victim", FAULTS)
def test_everybody_who_takes_part_is_found_and_hit(victim, tmp_path, bound):
    bound.struck()
    plan = Plan(0, victim, "pause", is_under_way=True, after=0, choice=0)
    run = Run(plan, tmp_path)
    run.carry_out()
    assert (run.hit, run.problems) == (True, [])


@pytest.mark.bound(20)
def test_a_seed_always_makes_the_same_plan_and_seeds_make_all_of_them():
    plans = [Plan.of(seed) for seed in range(400)]
    assert plans == [Plan.of(seed) for seed in range(400)]
    faults = {(plan.victim, plan.fault) for plan in plans}
    assert faults == {(victim, how) for victim, ways in FAULTS.items() for how in ways}
