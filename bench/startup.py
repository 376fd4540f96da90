"""N short processes: tfrun on the embedded Mesos against a shell loop, mpirun and torchrun."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from bench.timing import Contest

TASKS = 8
COMMAND = [sys.executable, "-c", "pass"]


def shell_loop() -> None:
    processes = [subprocess.Popen(COMMAND) for _ in range(TASKS)]
    assert not any(process.wait() for process in processes)


def tfrun() -> None:
    argv = [Path(sys.executable).with_name("tfrun"), "-w", str(TASKS), "--", *COMMAND]
    subprocess.run(argv, check=True)


def mpirun() -> None:
    flags = ["--allow-run-as-root", "--oversubscribe", "-n", str(TASKS)]
    subprocess.run(["mpirun", *flags, *COMMAND], check=True)


def torchrun() -> None:
    flags = [f"--nproc-per-node={TASKS}", "--no-python"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run(["torchrun", *flags, *COMMAND], check=True, env=env)


def run(repetitions: int) -> Contest:
    contest = Contest(f"start-up: {TASKS} x python -c pass", repetitions)
    contestants: dict[str, Callable[[], object]] = {"shell loop": shell_loop, "tfrun": tfrun}
    for program in (mpirun, torchrun):
        if shutil.which(program.__name__):
            contestants[program.__name__] = program
        else:
            print(f"{program.__name__} is not installed: left out")
    contest.measure(contestants)
    return contest
