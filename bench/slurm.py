"""N tasks that run ``true``: tfrun against ``sbatch --wait`` with srun, on a genuine Slurm."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench import programs
from bench.timing import Contestant, Measured, Result
from tests.slurm.genuine.cluster import CannotRun, Slurm, check_machine

SIZES = [8, 200]
BOUNDS = {8: 1.3, 200: 1.5}
WHOLE = "whole command (s)"
CPUS, MEMORY = 100, 20_000  # of each of its three nodes; nothing holds a task to them

Command = Callable[[int], tuple[list[str], str]]  # of so many tasks, and its standard input


def run(sizes: Sequence[int] = SIZES, times: int = 5) -> Result:
    result = Result("slurm", "slurm: N tasks that run true", "N")
    try:
        check_machine()
    except CannotRun as reason:
        result.notes.append(f"{reason}: left out")
        return result
    with tempfile.TemporaryDirectory(prefix="tfmesos-bench-") as place:
        with Slurm(Path(place) / "slurm", cpus=CPUS, memory=MEMORY) as slurm:
            _contest(slurm, result, list(sizes), times)
    return result


def _contest(slurm: Slurm, result: Result, sizes: list[int], times: int) -> None:
    contestants = {"sbatch": _measured(slurm, _sbatch), "tfrun": _measured(slurm, _tfrun)}
    for contestant in contestants.values():
        contestant(1)  # so that everything is compiled
    result.contest(contestants, sizes, times)
    for size in sizes:
        ratio = result.ratio(WHOLE, "tfrun", "sbatch", size)
        result.aim(f"true in {size} tasks: tfrun / sbatch --wait", ratio, BOUNDS.get(size, 1.5))


def _measured(slurm: Slurm, command: Command) -> Contestant:
    def measured(tasks: int) -> Measured:
        slurm.wait_until_idle()  # the job before has left its nodes
        return _timed(*command(tasks), slurm.environment)

    return measured


def _timed(words: list[str], given: str, environment: Mapping[str, str]) -> Measured:
    env = {**programs.ENVIRONMENT, **environment}
    start = time.perf_counter()
    done = subprocess.run(words, input=given, env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{words[0]} exited with {done.returncode}: {done.stderr}")
    return {WHOLE: time.perf_counter() - start}


def _tfrun(tasks: int) -> tuple[list[str], str]:
    return programs.tfrun(tasks, "true", flags=["-m", "slurm://", "-Mw", "64"]), ""


def _sbatch(tasks: int) -> tuple[list[str], str]:
    words = ["sbatch", "--wait", f"--ntasks={tasks}", "--mem-per-cpu=64", "--output=/dev/null"]
    return words, f"#!/bin/sh\nsrun --ntasks={tasks} --mem-per-cpu=64 true\n"
