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
LINES = 4_000_000  # of all tasks together
GOALS = {1: 200, 64: 100}  # MB/s to a pipe, by the number of tasks
WIDTH = 80  # bytes with the end of the line
STEPS = 400  # of the task that is watched; each some work and a line

WRITER = """
import os, sys, time
lines, width = int(sys.argv[1]), int(sys.argv[2])
with open(f"{sys.argv[3]}/{os.getpid()}", "w") as mark: mark.write(repr(time.time()))
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
    result.aim("lines lost in all repetitions", lost, 0, "lines")
    for tasks, bound in GOALS.items():
        if tasks in sizes and lines == LINES:
            found = result.median("MB/s", "tfrun to a pipe", tasks)
            result.aim(f"output of {tasks} tasks to a pipe", found, bound, "MB/s", is_least=True)
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


def _writer(lines: int, marks: str) -> list[str]:
    """It notes in the directory *marks* when it begins."""
    return [sys.executable, "-S", "-c", WRITER, str(lines), str(WIDTH), marks]


def _through_cats(tasks: int, lines: int, to_file: bool) -> Measured:
    """Writers, each with a cat of its own, whose output is read as that of tfrun is."""

    def start(out: BinaryIO | int, marks: str) -> list[subprocess.Popen[bytes]]:
        processes = []
        for _ in range(tasks):
            writer = subprocess.Popen(_writer(lines, marks), stdout=subprocess.PIPE)
            assert writer.stdout
            processes += [writer, subprocess.Popen(["cat"], stdin=writer.stdout, stdout=out)]
            writer.stdout.close()
        return processes

    return _count(start, tasks * lines, to_file)


def _through_tfrun(tasks: int, lines: int, to_file: bool) -> Measured:
    def start(out: BinaryIO | int, marks: str) -> list[subprocess.Popen[bytes]]:
        nothing = subprocess.DEVNULL
        argv = programs.tfrun(tasks, *_writer(lines, marks))
        return [subprocess.Popen(argv, stdout=out, stderr=nothing, env=programs.ENVIRONMENT)]

    return _count(start, tasks * lines, to_file)


def _count(start, lines: int, to_file: bool) -> Measured:  # type: ignore[no-untyped-def]
    """Seconds from the first line that is written until the last is there, and how many are."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory, programs.marks() as marks:
        path = Path(directory, "output")
        if to_file:
            with open(path, "ab") as file:
                _finish(start(file, marks.directory))
            end = time.time()
            with open(path, "rb") as file:
                arrived = sum(piece.count(b"\n") for piece in iter(lambda: file.read(2**20), b""))
        else:
            counter = subprocess.Popen(["wc", "-l"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert counter.stdin and counter.stdout
            processes = start(counter.stdin.fileno(), marks.directory)
            counter.stdin.close()
            arrived = int(counter.stdout.read())
            end = time.time()
            _finish([*processes, counter])
            counter.stdout.close()
        return _measured(end - min(marks.moments()), lines, lines - arrived)


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
