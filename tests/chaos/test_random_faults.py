"""A few runs with random faults; random_faults.py says how to have more."""

from __future__ import annotations

import dataclasses

import pytest

from .random_faults import FAILS_WITH, LINES, PHASES, Plan, Run, carry_out, findings, wrongs

SEEDS = range(30)
EACH = 3  # runs of one test, so that several workers of pytest can share them
LIGHT = Plan(0, 2, False, pause=0, phase="running", after=0, part="guard", fault="kill", choice=0)


@pytest.mark.bound(300)
@pytest.mark.parametrize("first", SEEDS[::EACH])
def test_random_faults_end_runs_rightly_and_leave_nothing(first, bound):
    bound.struck()
    found = {seed: findings(seed) for seed in range(first, first + EACH)}
    assert {seed: problems for seed, problems in found.items() if problems} == {}


@pytest.mark.bound(60)
@pytest.mark.parametrize(
    "phase, part", [(phase, part) for phase in ("starting", "running") for part in PHASES[phase][0]]
)
def test_every_part_of_a_run_is_found_and_hit(phase, part, tmp_path, bound):
    bound.struck()
    plan = dataclasses.replace(LIGHT, phase=phase, part=part, fault="pause", pause=None)
    assert carry_out(plan, tmp_path).hit == part


def a_run(code, done, *, lines=LINES, err="", hit="guard", victim=0, **plan):
    out = "".join(f"[worker:{w}] {w} {n}\n" for w in done for n in range(lines))
    return Run(dataclasses.replace(LIGHT, **plan), code, out, err, done, hit, victim)


BOTH = {0: 0, 1: 0}


@pytest.mark.bound(20)
@pytest.mark.parametrize(
    "run, wrong",
    [
        (a_run(0, BOTH), ""),
        (a_run(0, {0: 0}), "exited with 0, but"),
        (a_run(0, {0: 0, 1: 3}, fails=True), "exited with 0, but"),
        (a_run(FAILS_WITH, {0: 3, 1: 3}, fails=True), ""),
        (a_run(137, {0: 0}), "137 and not with 0"),
        (a_run(137, {0: 0}, hit=None), "137 and not with 0"),
        (a_run(130, {0: 0}, hit="runner", fault="pause"), "130 and not with 0"),
        (a_run(137, {0: 0}, hit="runner", victim=1), ""),
        (a_run(0, BOTH, lines=LINES - 1), "lines of worker:0 399 are accounted for"),
        (a_run(0, BOTH, lines=LINES + 1), "lines of worker:1 401 are accounted for"),
        (a_run(137, {0: 0}, lines=7, hit="runner", victim=1), "worker:0 7 are accounted for"),
        (a_run(137, {0: 0}, lines=7, hit="runner", victim=0), ""),
        (
            a_run(0, BOTH, lines=LINES - 5, err="[worker:0] (5 lines left out here: x)\n"),
            "worker:1",
        ),
        (a_run(-9, BOTH, lines=0, hit="launcher"), ""),
        (a_run(70, BOTH, hit="launcher"), "killed and exited with 70"),
    ],
)
def test_what_is_wrong_with_a_run_is_found(run, wrong):
    assert wrong in "; ".join(wrongs(run)) if wrong else wrongs(run) == []


@pytest.mark.bound(20)
def test_a_seed_always_makes_the_same_plan_and_seeds_make_all_of_them():
    plans = [Plan.of(seed) for seed in range(200)]
    assert plans == [Plan.of(seed) for seed in range(200)]
    faults = {(plan.part, plan.fault) for plan in plans}
    others = {
        (part, fault)
        for part in ("parent", "runner", "guard", "command")
        for fault in ("kill", "pause", "stop")
    }
    assert faults == others | {("launcher", "kill"), ("launcher", "pause")}
    moments = {(plan.phase, plan.part) for plan in plans}
    assert moments == {(phase, part) for phase, (parts, _) in PHASES.items() for part in parts}
