"""N short processes: tfrun on this machine against a loop, mpirun and torchrun."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from bench import programs
from bench.timing import Measured, Result

SIZES = [1, 4, 8, 16, 64]
GOALS = {("mpirun", 8): 2.0, ("torchrun", 8): 0.13, ("mpirun", 64): 1.8}  # times as long, at most
MANY = 16  # from so many tasks on, fewer repetitions


def run(sizes: Sequence[int] = SIZES, times: int = 5) -> Result:
    result = Result("start-up", "start-up: N x python -c pass", "N")
    contestants = {
        "loop": lambda n: _measure(lambda *c: programs.loop(n, *c)),
        "tfrun": lambda n: _measure(lambda *c: programs.run(programs.tfrun(n, *c))),
    }
    if shutil.which("mpirun"):
        contestants["mpirun"] = lambda n: _measure(lambda *c: programs.run(programs.mpirun(n, *c)))
    else:
        result.notes.append("mpirun is not installed: left out")
    if programs.torchrun_path():
        contestants["torchrun"] = lambda n: _measure(lambda *c: programs.run_torchrun(n, *c))
    else:
        result.notes.append("torchrun is not installed: left out")
    programs.run(programs.tfrun(1, "true"))  # so that everything is compiled
    repeats = {size: times if size < MANY else max(1, times // 2) for size in sizes}
    result.contest(contestants, repeats, times)
    _note_ratios(result, sizes, contestants)
    _measure_phases(result, sizes, times)
    version = [_seconds(lambda: programs.run([programs.TFRUN, "--version"])) for _ in range(9)]
    median = statistics.median(measured["whole command (s)"] for measured in version)
    result.aim("tfrun --version", 1000 * median, 45, "ms")
    return result


def _measure(launch: Callable[..., None]) -> Measured:
    with programs.marks() as marks:
        start = time.time()
        launch(*marks.noting())
        end = time.time()
        return {"all run (s)": max(marks.moments()) - start, "whole command (s)": end - start}


def _note_ratios(result: Result, sizes: Sequence[int], contestants: Sequence[str]) -> None:
    whole = "whole command (s)"
    for size in sorted({8, 64} & set(sizes)):
        for other in contestants:
            if other != "tfrun":
                ratio = result.ratio(whole, "tfrun", other, size)
                result.notes.append(f"tfrun / {other} at N = {size}: {ratio:.2f}")
                if bound := GOALS.get((other, size)):
                    result.aim(f"{size} x python -c pass, beside {other}", ratio, bound)
    if len(sizes) > 2:
        for name in contestants:
            exponent = result.exponent(whole, name, least=8)
            result.notes.append(f"growth from N = 8 on: {name} ~ N ** {exponent:.2f}")


def _measure_phases(result: Result, sizes: Sequence[int], times: int) -> None:
    for size in sizes:
        for _ in range(times):
            command = [
                sys.executable,
                "-m",
                "bench.phases",
                str(size),
                sys.executable,
                "-c",
                "pass",
            ]
            pipe = subprocess.PIPE
            done = subprocess.run(command, check=True, env=programs.ENVIRONMENT, stdout=pipe)
            for phase, seconds in json.loads(done.stdout).items():
                result.add(phase, size, {"tfrun by phase (s)": seconds})


def run_tensorflow(
    sizes: Sequence[int] = (2,), times: int = 3, module: str = "tensorflow"
) -> Result:
    result = Result("tensorflow", f"tensorflow: N x python -c 'import {module}'", "N")
    if not programs.has_tensorflow():
        result.notes.append("TensorFlow is not installed: left out")
        return result
    command = [sys.executable, "-c", f"import {module}"]
    contestants = {
        "loop": lambda n: _seconds(lambda: programs.loop(n, *command)),
        "tfrun": lambda n: _seconds(lambda: programs.run(programs.tfrun(n, *command))),
    }
    result.contest(contestants, list(sizes), times)
    for size in sizes:
        ratio = result.ratio("whole command (s)", "tfrun", "loop", size)
        result.aim(f"{size} x import {module}, beside the loop", ratio, 1.02)
    return result


def _seconds(work: Callable[[], None]) -> Measured:
    start = time.perf_counter()
    work()
    return {"whole command (s)": time.perf_counter() - start}
