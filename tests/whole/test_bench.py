"""The benchmarks run. What they find is for bench/README.rst: no test depends on a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import BENCHMARKS
from bench.timing import Result, goals_table

HERE = Path(__file__).parents[2]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_runs_at_its_smallest_size(name, tmp_path):
    command = [sys.executable, "-m", "bench", name, "--smallest", "--directory", str(tmp_path)]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    kept = json.loads((tmp_path / "results.json").read_text())
    assert kept["machine"]["cores"] > 0
    result = Result(**kept["benchmarks"][name])
    assert result.title in done.stdout
    assert result.values or "left out" in done.stdout
    for contestants in result.values.values():
        for sizes in contestants.values():
            assert all(value >= 0 for values in sizes.values() for value in values)
    for kind in ("png", "svg"):
        assert (tmp_path / f"{name}.{kind}").exists() == bool(result.values)


def test_a_growth_is_told_by_its_exponent():
    result = Result("r", "r", "N")
    for size in (1, 10, 100, 1000):
        result.add("square", size, {"s": 3.0 * size**2})
        result.add("late", size, {"s": max(10.0, size)})
    assert result.exponent("s", "square") == pytest.approx(2)
    assert result.exponent("s", "late", least=10) == pytest.approx(1)


def test_a_table_tells_medians_and_spread_of_everybody():
    result = Result("r", "title", "N")
    for value in (1.0, 2.0, 30.0):
        result.add("a", 2, {"s": value})
    result.add("b", 4, {"s": 1234.5})
    assert [line.split() for line in result.table().splitlines()[3:6]] == [
        ["N", "a", "b"],
        ["2", "2.000", "(1.000-30.0)"],
        ["4", "1234"],
    ]


def test_contestants_take_turns():
    turns = []
    contestants = {name: lambda _, name=name: turns.append(name) or {} for name in "ab"}
    Result("r", "title", "N").contest(contestants, [1], times=2)
    assert turns == ["a", "b", "a", "b"]


def test_the_goals_stand_in_one_table_that_tells_which_are_missed():
    result = Result("r", "title", "N")
    result.aim("time of N tasks", 2.5, 3.0)
    result.aim("output", 150.0, 200, "MB/s", is_least=True)
    assert [goal.is_met for goal in result.goals] == [True, False]
    assert goals_table(result.goals).splitlines() == [
        "goal             bound              found",
        "time of N tasks  at most 3 x        2.500 x",
        "output           at least 200 MB/s  150 MB/s  MISSED",
    ]
