"""One launcher against many simulated agents, with one task on each or with twenty."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench import programs
from bench.timing import Measured, Result

SIZES = [100, 1000, 10_000]
ALONE = "one an agent"
TOGETHER = 20  # tasks on an agent
WHOLE = "whole command (s)"
_PARENT = str(Path(__file__).with_name("parent.py"))


def run(sizes: Sequence[int] = SIZES, times: int = 1) -> Result:
    result = Result("scale", "scale: one launcher, N tasks on simulated agents", "N")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    possible = [size for size in sizes if size + 200 < limit]
    for size in set(sizes) - set(possible):
        result.notes.append(f"{size} tasks need more open files than the {limit} allowed: left out")
    contestants = {
        ALONE: lambda n: _measure(n, n),
        f"{TOGETHER} an agent": lambda n: _measure(n, -(-n // TOGETHER)),
    }
    result.contest(contestants, possible, times)
    for name in contestants if max(SIZES) in possible else ():
        _aim(result, name)
    if len(possible) > 2:
        for measure in ("CPU (s)", WHOLE, "memory (MiB)"):
            exponent = result.exponent(measure, ALONE, least=possible[1])
            result.notes.append(
                f"growth from N = {possible[1]} on: {measure} ~ N ** {exponent:.2f}"
            )
    return result


def _aim(result: Result, name: str) -> None:
    most, few = max(SIZES), SIZES[1]
    what = f"{most:,} tasks, {name}"
    messages = [result.median("messages a task", name, size) for size in (most, few)]
    result.aim(f"{what}: CPU of the launcher", result.median("CPU (s)", name, most), 20, "s")
    result.aim(f"{what}: memory", result.median("memory (MiB)", name, most), 250, "MiB")
    result.aim(f"{what}: messages a task, beside {few:,} tasks", messages[0] / messages[1], 1.05)


def _measure(tasks: int, agents: int) -> Measured:
    measured, told = simulate(tasks, [], agents)
    return {**measured, **_per_task(told, tasks)}


def _per_task(told: dict[str, float], tasks: int) -> Measured:
    """What passed for each task. Heartbeats stand apart: they depend on the time a run takes."""
    return {
        "messages a task": (told["calls"] + told["events"] + told["frames"]) / tasks,
        "heartbeats a task": told["heartbeats"] / tasks,
        "bytes of Mesos a task": told["bytes"] / tasks,
    }


def simulate(
    tasks: int, flags: list[str], agents: int | None = None
) -> tuple[Measured, dict[str, float]]:
    """A run with these *flags* on a simulated Mesos, and what that one reports about it.

    Without a number of *agents* every task has one of its own.
    """
    with serving(tasks, agents or tasks) as mesos:
        measured = launch(programs.tfrun(tasks, "true", flags=["-m", mesos.address, *flags]))
    return measured, mesos.told


@dataclass
class Served:
    """A simulated Mesos; *told* is what it reports when it is not needed any more."""

    address: str
    told: dict[str, float] = field(default_factory=dict)


@contextmanager
def serving(tasks: int, agents: int, launchers: int = 1) -> Iterator[Served]:
    """A simulated Mesos for one run that has so many *launchers*, one after the other."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "bench.simulated", *map(str, (tasks, agents, launchers))]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as mesos:
        assert mesos.stdin and mesos.stdout
        served = Served(f"127.0.0.1:{mesos.stdout.readline().strip()}")
        try:
            yield served
        finally:
            mesos.stdin.close()
        served.told = json.loads(mesos.stdout.read())


def launch(argv: list[str], environment: dict[str, str] = programs.ENVIRONMENT) -> Measured:
    """What the command takes: time and CPU with all that it waited for, memory of the largest."""
    command = [sys.executable, "-I", "-S", _PARENT, str(programs.LIMIT), *argv]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    code, seconds, cpu, memory = json.loads(done.stdout)
    if code:
        slow = f" after {seconds:.0f} s" if seconds >= programs.LIMIT else ""
        raise RuntimeError(f"tfrun ended with {code}{slow}")
    return {"CPU (s)": cpu, WHOLE: seconds, "memory (MiB)": memory}
