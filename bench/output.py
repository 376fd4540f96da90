"""Output of N tasks that write as fast as they can: through tfrun, and through as many cats."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from bench import programs
from bench.timing import Measured, Result

SIZES = [1, 8, 64]
LINES = 2_000_000  # of all tasks together
WIDTH = 80  # bytes with the end of the line
STEPS = 400  # of the task that is watched; each some work and a line

WRITER = """
import os, sys
lines, width = int(sys.argv[1]), int(sys.argv[2])
block = (b"x" * (width - 1) + b"\\n") * min(lines, 65536 // width)
while lines:
    count = min(lines, len(block) // width)
    os.write(1, block[:count * width]) == count * width or sys.exit(1)
    lines -= count
"""
WORKER = """
import sys, time
start = time.perf_counter()
for step in range(int(sys.argv[1])):
    sum(range(40000))
    print("step", step, "loss", 0.123456789, flush=True)
print(time.perf_counter() - start, file=open(sys.argv[2], "w"))
"""


def run(sizes: Sequence[int] = SIZES, times: int = 3, lines: int = LINES) -> Result:
    result = Result("output", f"output: {lines} lines of {WIDTH} bytes from N tasks", "N")
    contestants = {
        "cat to a pipe": lambda n: _through_cats(n, lines // n, to_file=False),
        "tfrun to a pipe": lambda n: _through_tfrun(n, lines // n, to_file=False),
        "cat to a file": lambda n: _through_cats(n, lines // n, to_file=True),
        "tfrun to a file": lambda n: _through_tfrun(n, lines // n, to_file=True),
    }
    result.contest(contestants, list(sizes), times)
    lost = sum(sum(values) for by in result.values["lines lost"].values() for values in by.values())
    result.notes.append(f"lines lost in all repetitions: {lost:.0f}")
    watched = {
        "alone": lambda n: _watch(n, []),
        "not forwarded": lambda n: _watch(n, ["--logs", "none"]),
        "forwarded": lambda n: _watch(n, ["--logs", "all"]),
    }
    result.contest(watched, [1], times)
    return result


def _measured(seconds: float, lines: int, lost: int) -> Measured:
    arrived = lines - lost
    return {
        "MB/s": arrived * WIDTH / seconds / 1e6,
        "million lines/s": arrived / seconds / 1e6,
        "lines lost": lost,
    }


def _writer(lines: int) -> list[str]:
    return [sys.executable, "-S", "-c", WRITER, str(lines), str(WIDTH)]


def _through_cats(tasks: int, lines: int, to_file: bool) -> Measured:
    """Writers, each with a cat of its own, whose output is read as that of tfrun is."""

    def start(out: BinaryIO | int) -> list[subprocess.Popen[bytes]]:
        processes = []
        for _ in range(tasks):
            writer = subprocess.Popen(_writer(lines), stdout=subprocess.PIPE)
            assert writer.stdout
            processes += [writer, subprocess.Popen(["cat"], stdin=writer.stdout, stdout=out)]
            writer.stdout.close()
        return processes

    return _count(start, tasks * lines, to_file)


def _through_tfrun(tasks: int, lines: int, to_file: bool) -> Measured:
    argv = programs.tfrun(tasks, *_writer(lines))

    def start(out: BinaryIO | int) -> list[subprocess.Popen[bytes]]:
        nothing = subprocess.DEVNULL
        return [subprocess.Popen(argv, stdout=out, stderr=nothing, env=programs.ENVIRONMENT)]

    return _count(start, tasks * lines, to_file)


def _count(start, lines: int, to_file: bool) -> Measured:  # type: ignore[no-untyped-def]
    """Seconds until the last line is there, and how many are."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        path = Path(directory, "output")
        begun = time.perf_counter()
        if to_file:
            with open(path, "ab") as file:
                _finish(start(file))
            seconds = time.perf_counter() - begun
            with open(path, "rb") as file:
                arrived = sum(piece.count(b"\n") for piece in iter(lambda: file.read(2**20), b""))
        else:
            counter = subprocess.Popen(["wc", "-l"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert counter.stdin and counter.stdout
            processes = start(counter.stdin.fileno())
            counter.stdin.close()
            arrived = int(counter.stdout.read())
            seconds = time.perf_counter() - begun
            _finish([*processes, counter])
            counter.stdout.close()
    return _measured(seconds, lines, lines - arrived)


def _finish(processes: list[subprocess.Popen[bytes]]) -> None:
    if any([process.wait() for process in processes]):
        raise RuntimeError("a program that writes or reads output has failed")


def _watch(steps: int, flags: list[str]) -> Measured:
    """How long a task that prints now and then takes, by its own clock."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        path = Path(directory, "seconds")
        command = [sys.executable, "-c", WORKER, str(STEPS * steps), str(path)]
        programs.run(programs.tfrun(1, *command, flags=flags) if flags else command)
        return {"a task that prints (s)": float(path.read_text())}
