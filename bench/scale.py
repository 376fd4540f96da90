"""One launcher against many simulated agents, one task on each."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence

from bench import programs
from bench.timing import Measured, Result

SIZES = [100, 1000, 5000, 10_000]


def run(sizes: Sequence[int] = SIZES, times: int = 1) -> Result:
    result = Result("scale", "scale: one launcher, N simulated agents with a task each", "N")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    possible = [size for size in sizes if size + 200 < limit]
    for size in set(sizes) - set(possible):
        result.notes.append(f"{size} tasks need more open files than the {limit} allowed: left out")
    result.contest({"tfrun": _measure}, possible, times)
    if len(possible) > 2:
        for measure in ("CPU (s)", "whole command (s)", "memory (MiB)"):
            exponent = result.exponent(measure, "tfrun", least=possible[1])
            result.notes.append(
                f"growth from N = {possible[1]} on: {measure} ~ N ** {exponent:.2f}"
            )
    return result


def _measure(tasks: int) -> Measured:
    measured, told = simulate(tasks, [])
    return {**measured, "messages": told["calls"] + told["events"] + told["frames"]}


def simulate(tasks: int, flags: list[str]) -> tuple[Measured, dict[str, float]]:
    """A run with these *flags* on a simulated Mesos, and what that one tells of it."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "bench.simulated", str(tasks)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as mesos:
        assert mesos.stdin and mesos.stdout
        address = f"127.0.0.1:{mesos.stdout.readline().strip()}"
        try:
            measured = _launch(programs.tfrun(tasks, "true", flags=["-m", address, *flags]))
        finally:
            mesos.stdin.close()
        return measured, json.loads(mesos.stdout.read())


def _launch(argv: list[str]) -> Measured:
    start = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
    pid = os.posix_spawn(argv[0], argv, programs.ENVIRONMENT, file_actions=quiet)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise RuntimeError(f"tfrun ended with {os.waitstatus_to_exitcode(status)}")
    cpu = usage.ru_utime + usage.ru_stime
    return {"CPU (s)": cpu, "whole command (s)": seconds, "memory (MiB)": usage.ru_maxrss / 1024}
