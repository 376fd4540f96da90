"""N tasks that run ``true``: tfrun against ``sbatch --wait`` with srun, on a genuine Slurm."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import programs
from bench.timing import Measured, Result
from tests.slurm.genuine.cluster import CannotRun, Slurm, check_machine

SIZES = [8, 200]
BOUNDS = {8: 1.3, 200: 1.5}
WHOLE = "whole command (s)"
CPUS, MEMORY = 100, 20_000  # of each of its three nodes; nothing holds a task to them


def run(sizes: Sequence[int] = SIZES, times: int = 5) -> Result:
    result = Result("slurm", "slurm: N tasks that run true", "N")
    try:
        check_machine()
    except CannotRun as reason:
        result.notes.append(f"{reason}: left out")
        return result
    with tempfile.TemporaryDirectory(prefix="tfmesos-bench-") as place:
        with Slurm(Path(place) / "slurm", cpus=CPUS, memory=MEMORY) as slurm:
            os.environ.update(slurm.environment)
            _contest(slurm, result, list(sizes), times)
    return result


def _contest(slurm: Slurm, result: Result, sizes: list[int], times: int) -> None:
    def alone(contestant):  # type: ignore[no-untyped-def]
        def measured(tasks: int) -> Measured:
            slurm.wait_until_idle()  # the job before has left its nodes
            return contestant(tasks)

        return measured

    contestants = {"sbatch": alone(_through_sbatch), "tfrun": alone(_through_tfrun)}
    for contestant in contestants.values():
        contestant(1)  # so that everything is compiled
    result.contest(contestants, sizes, times)
    for size in sizes:
        ratio = result.ratio(WHOLE, "tfrun", "sbatch", size)
        result.aim(f"true in {size} tasks: tfrun / sbatch --wait", ratio, BOUNDS.get(size, 1.5))


def _through_tfrun(tasks: int) -> Measured:
    start = time.perf_counter()
    programs.run(programs.tfrun(tasks, "true", flags=["-m", "slurm://", "-Mw", "64"]))
    return {WHOLE: time.perf_counter() - start}


def _through_sbatch(tasks: int) -> Measured:
    words = ["sbatch", "--wait", f"--ntasks={tasks}", "--mem-per-cpu=64", "--output=/dev/null"]
    script = f"#!/bin/sh\nsrun --ntasks={tasks} --mem-per-cpu=64 true\n"
    start = time.perf_counter()
    done = subprocess.run(words, input=script, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"sbatch exited with {done.returncode}: {done.stderr}")
    return {WHOLE: time.perf_counter() - start}
