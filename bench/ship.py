"""What it costs to ship a directory: to tasks on this machine, and to many simulated ones."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import programs, scale
from bench.timing import Measured, Result

SIZES = [0, 1, 10]  # MB
FILES = 100


def run(
    sizes: Sequence[int] = SIZES, times: int = 2, here: int = 8, simulated: int = 1000
) -> Result:
    result = Result("ship", "ship: a directory of so many MB, sent to each task", "MB")
    programs.run(programs.tfrun(1, "true"))  # so that everything is compiled
    contestants = {
        f"{here} tasks here": lambda size: _here(here, size),
        f"{simulated} simulated tasks": lambda size: _simulated(simulated, size),
    }
    result.contest(contestants, list(sizes), times)
    first, *_, last = [*sizes, sizes[0]] if len(sizes) == 1 else sizes
    added = [
        result.median("whole command (s)", f"{here} tasks here", size) for size in (first, last)
    ]
    result.notes.append(f"{last} MB to {here} tasks here add {added[1] - added[0]:.2f} s")
    return result


def _here(tasks: int, size: int) -> Measured:
    with _directory(size) as flags:
        start = time.perf_counter()
        programs.run(programs.tfrun(tasks, "true", flags=flags))
        return {"whole command (s)": time.perf_counter() - start}


def _simulated(tasks: int, size: int) -> Measured:
    with _directory(size) as flags:
        measured, told = scale.simulate(tasks, flags)
    return {**measured, "slowest answer meanwhile (s)": told["slowest answer"]}


@contextmanager
def _directory(size: int) -> Iterator[list[str]]:
    """The flags that ship *size* MB, in a hundred files that do not shrink."""
    with tempfile.TemporaryDirectory(prefix="tfmesos-bench-") as place:
        for number in range(FILES):
            Path(place, f"{number}.bin").write_bytes(os.urandom(size * 1_000_000 // FILES))
        yield [f"--ship={place}"] if size else []
