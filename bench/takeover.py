"""A launcher of many simulated tasks is killed, and another one takes over."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench import programs
from bench.scale import launch, serving
from bench.timing import Measured, Result

SIZES = [100, 1000]
NEXT = "the next launcher"
BACK = "until it has all tasks (s)"
LAUNCHERS = 2


def run(sizes: Sequence[int] = SIZES, times: int = 1) -> Result:
    result = Result("takeover", "takeover: a launcher that continues N simulated tasks", "N")
    result.contest({NEXT: _measure}, list(sizes), times)
    if (most := max(SIZES)) in sizes:
        result.aim(f"take-over of {most:,} tasks", result.median(BACK, NEXT, most), 5, "s")
        result.aim("the same: memory", result.median("memory (MiB)", NEXT, most), 150, "MiB")
    return result


def _measure(tasks: int) -> Measured:
    with tempfile.TemporaryDirectory(prefix="bench-") as state:
        environment = {**programs.ENVIRONMENT, "XDG_STATE_HOME": state}
        with serving(tasks, tasks, LAUNCHERS) as mesos:
            flags = ["-m", mesos.address, "--resume", "--name", "bench", "--survive", "5m"]
            command = programs.tfrun(tasks, "true", flags=flags)
            _begin_and_kill(command, environment, tasks)
            began = time.time()
            measured = launch(command, environment)
        return {BACK: mesos.told["complete"] - began, **measured}


def _begin_and_kill(command: list[str], environment: dict[str, str], tasks: int) -> None:
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, env=environment, stdout=nothing, stderr=nothing) as first:
        try:
            _wait_until_ready(Path(environment["XDG_STATE_HOME"]), tasks)
        finally:
            first.kill()


def _wait_until_ready(state: Path, tasks: int) -> None:
    """As the record of the run says."""
    end = time.monotonic() + programs.LIMIT
    while sum(path.read_text().count("TaskReady") for path in state.rglob("events.jsonl")) < tasks:
        if time.monotonic() > end:
            raise RuntimeError(f"{tasks} tasks were not ready within {programs.LIMIT} s")
        time.sleep(0.05)
