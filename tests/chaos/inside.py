"""Runs whose owner has a command and copies in the tasks while a random process is hit.

    python -m tests.chaos.inside --runs 50 --seed 1

Run number n of seed s is run 0 of seed s + n, as in ``random_faults``.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.commands import environment
from tests.conftest import living_children
from tfmesos.node.inside.command import MARK

from .random_faults import ENDS_WITHIN, LOOK_AGAIN, those_of, what_is_left

Process = subprocess.Popen[bytes]
TFRUN = [sys.executable, "-m", "tfmesos"]
HUGE = 100_000_000_000  # bytes, in a file without any content: no copy of it ever ends
STILL = 20  # lines that a task that was not hit goes on to write
TASK = "echo begun; i=0; while sleep 0.02; do i=$((i+1)); echo line $i; done"
COMMAND = "setsid sleep 1000 & echo $$ > ../inside; exec cat /dev/zero"
CALLS = {
    "exec": ["exec", "worker:0", "--", "sh", "-c", COMMAND],
    "cp in": ["cp", "../huge", "worker:0:half"],
    "cp out": ["cp", "worker:1:../huge", "../copies/half"],
}
# Who is hit -> how. A caller that is stopped goes on when the run is over.
FAULTS = {
    "launcher": ["kill", "pause"],
    "runner": ["kill", "pause", "stop"],
    "guard": ["kill", "pause", "stop"],
    "task": ["kill", "pause", "stop"],
    "command": ["kill", "pause", "stop"],
    **{name: ["kill", "pause", "stop", "interrupt"] for name in CALLS},
}
OWNERS = {"command", *CALLS}  # who is hit of these harms no task


@dataclass(frozen=True)
class Plan:
    """All that is random of a run, but for what the machine makes of it."""

    seed: int
    victim: str
    fault: str
    is_under_way: bool  # does the fault wait until the command runs and copies have begun?
    after: float  # seconds until it falls
    choice: float  # which of those that there are

    @classmethod
    def of(cls, seed: int) -> Plan:
        chance = random.Random(seed)
        victim = chance.choice(list(FAULTS))
        fault = chance.choice(FAULTS[victim])
        # A Python that is interrupted before it runs our code prints a traceback of its own.
        is_under_way = fault == "interrupt" or chance.random() < 0.7
        return cls(
            seed=seed,
            victim=victim,
            fault=fault,
            is_under_way=is_under_way,
            after=round(chance.uniform(0.0, 0.3 if is_under_way else 1.0), 3),
            choice=chance.random(),
        )


class Run:
    """A run with its callers; their output is in files of *place*."""

    def __init__(self, plan: Plan, place: Path) -> None:
        self.plan = plan
        self.place = place
        self.hit = False
        self.problems: list[str] = []
        for name in ("tmp", "task", "copies"):
            (place / name).mkdir()
        with open(place / "huge", "wb") as huge:
            huge.truncate(HUGE)
        self.launcher = self._start("launcher", ["-w", "2", "--", "sh", "-c", TASK])
        self.callers: dict[str, Process] = {}

    def _start(self, name: str, words: Sequence[str]) -> Process:
        env = environment(TMPDIR=str(self.place / "tmp"), XDG_STATE_HOME=str(self.place / "state"))
        is_endless = name == "exec"
        with open(self.place / f"{name}.err", "wb") as err:
            with open(os.devnull if is_endless else self.place / f"{name}.out", "wb") as out:
                return subprocess.Popen(
                    [*TFRUN, *words],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    cwd=self.place / "task",
                    env=env,
                )

    def carry_out(self) -> None:
        """Raises subprocess.TimeoutExpired if somebody does not end."""
        self._until(lambda: self._lines() and self._said("launcher.out").count("begun") == 2)
        for name, words in CALLS.items():
            self.callers[name] = self._start(name, words)
        if self.plan.is_under_way:
            self._until(self._is_under_way)
        time.sleep(self.plan.after)  # the random time; nothing waits for it
        self._until(self._strike)
        if self.plan.victim in OWNERS:
            before = self._lines()
            self._until(lambda: self._lines() >= before + STILL)
        self.launcher.terminate()
        code = self.launcher.wait(ENDS_WITHIN)
        for caller in self.callers.values():
            with suppress(psutil.NoSuchProcess):
                psutil.Process(caller.pid).resume()
            caller.wait(ENDS_WITHIN)
        self._check(code)

    def _until(self, condition: Callable[[], object]) -> None:
        """It holds, or will not because the run is over."""
        end = time.monotonic() + ENDS_WITHIN
        while self.launcher.poll() is None and not condition():
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("launcher", ENDS_WITHIN)
            time.sleep(LOOK_AGAIN)

    def _said(self, name: str) -> str:
        return (self.place / name).read_text(errors="replace")

    def _lines(self) -> int:
        return self._said("launcher.out").count("\n")

    def _is_under_way(self) -> bool:
        places = (self.place / "task", self.place / "copies")
        is_copying = all(any(".tfrun-" in name for name in os.listdir(one)) for one in places)
        return is_copying and (self.place / "inside").exists()

    def _strike(self) -> bool:
        """Was somebody there to be hit, or has whom we wanted to hit ended?"""
        plan = self.plan
        try:
            there = self._victims()
            victim = there[int(plan.choice * len(there))]
            _strike(victim, plan.fault)
        except (IndexError, psutil.Error):
            return plan.victim in OWNERS and any(one.poll() is not None for one in self._callers())
        self.hit = True
        return True

    def _callers(self) -> list[Process]:
        wanted = "exec" if self.plan.victim == "command" else self.plan.victim
        return [self.callers[wanted]]

    def _victims(self) -> list[psutil.Process]:
        launcher = psutil.Process(self.launcher.pid)
        if self.plan.victim in CALLS:
            return [psutil.Process(one.pid) for one in self._callers()]
        if self.plan.victim not in ("task", "command"):
            return those_of(self.plan.victim, launcher)
        is_inside = self.plan.victim == "command"
        return [one for one in those_of("command", launcher) if _is_inside(one) == is_inside]

    def _check(self, code: int) -> None:
        plan = self.plan
        expected = -9 if (plan.victim, plan.fault) == ("launcher", "kill") and self.hit else 143
        if (plan.victim in (*OWNERS, "launcher") or not self.hit) and code != expected:
            self.problems.append(f"the launcher exited with {code} and not with {expected}")
        for path in sorted(self.place.glob("*.err")):
            said = path.read_text(errors="replace")
            if "Traceback" in said or "internal error" in said:
                self.problems.append(f"{path.name}: {said[-2000:]}")


def _is_inside(process: psutil.Process) -> bool:
    return MARK in process.environ()


def _strike(victim: psutil.Process, fault: str) -> None:
    if fault == "kill":
        return victim.kill()
    if fault == "interrupt":
        return victim.send_signal(2)
    victim.suspend()
    if fault == "pause":
        time.sleep(0.3)
        with suppress(psutil.NoSuchProcess):
            victim.resume()


def _half_copies(place: Path) -> list[str]:
    """Copies that are not whole, and none ever is, once their guards have had their time."""
    there = [place / "task", place / "copies"]
    end = time.monotonic() + ENDS_WITHIN
    while (found := [str(path) for one in there for path in one.iterdir()]) and (
        time.monotonic() < end
    ):
        time.sleep(LOOK_AGAIN)
    return [f"it left {path}" for path in found]


def findings(seed: int, hits: Counter[str] | None = None) -> list[str]:
    """What is wrong with the run of this seed; *hits* counts the faults that met somebody."""
    before = set(living_children())
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        run = Run(Plan.of(seed), place)
        try:
            run.carry_out()
            problems = run.problems
        except subprocess.TimeoutExpired as error:
            problems = [f"{error.cmd} had not ended after {ENDS_WITHIN:g} s"]
        if run.hit and hits is not None:
            hits[f"{run.plan.victim} {run.plan.fault}"] += 1
        problems += [*what_is_left(place, before), *_half_copies(place)]
        if problems:
            problems += [path.read_text()[-1000:] for path in sorted(place.glob("*.err"))]
    return problems


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.inside")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args(argv)
    found, hits, began = [], Counter[str](), time.monotonic()
    for seed in range(args.seed, args.seed + args.runs):
        if problems := findings(seed, hits):
            found.append(seed)
            print(f"\nseed {seed}: {Plan.of(seed)}", *problems, sep="\n  ", flush=True)
        number, took = seed - args.seed + 1, time.monotonic() - began
        print(f"\r{number} of {args.runs} runs, {took:.0f} s, {len(found)} findings", end="")
        sys.stdout.flush()
    print(f"\n{hits.total()} of {args.runs} faults hit a living process:")
    print(", ".join(f"{fault} {times}" for fault, times in sorted(hits.items())))
    print(f"findings: seeds {found}" if found else "no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
