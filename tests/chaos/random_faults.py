"""Runs in which a random process is killed or stopped at a random time, and what must hold then.

    python -m tests.chaos.random_faults --runs 500 --seed 1

The time is a random one after the beginning of a random phase of the run, so that the process is
there on a busy machine and on an idle one. Run number n of seed s is run 0 of seed s + n, so
``--runs 1 --seed N`` does a finding over again, as far as the machine keeps time.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.bounds import HANG
from tests.commands import environment
from tests.conftest import describe, is_alive, living_children, reap
from tfmesos.engines.local.scratch_directory import remove_abandoned

Launcher = subprocess.Popen[bytes]

ENDS_WITHIN = HANG
LEAVES_WITHIN = 15.0  # seconds for what is left when the launcher has ended
LINES = 400
FAILS_WITH = 3
LOOK_AGAIN = 0.002  # seconds between two looks at a run
# Every worker says that it has begun, writes two halves of its lines, then leaves word that it is
# done, and of what.
COMMAND = (
    ": > {begun}; "
    "seq -f '{{task_index}} %g' {half}; {pause}; seq -f '{{task_index}} %g' {next} {lines}; "
    "echo {code} > {done}/{{task_index}}; exit {code}"
)
# Phase -> who lives in it, and the seconds after its beginning in which a fault falls.
PHASES = {
    "set-up": (["launcher"], 0.5),
    "starting": (["launcher", "parent", "runner", "guard"], 0.1),
    "running": (["launcher", "parent", "runner", "guard", "command"], 0.15),
    "stopping": (["launcher", "runner", "guard"], 0.01),
}
LEFT_OUT = re.compile(r"\[worker:(\d)\] \((\d+) lines? ")


@dataclass(frozen=True)
class Plan:
    """All that is random of a run, but for what the machine makes of it."""

    seed: int
    workers: int
    fails: bool
    pause: float | None  # seconds in the middle of the command; None: until the fault has fallen
    phase: str  # in which the fault falls
    after: float  # seconds from the beginning of the phase to the fault
    part: str  # launcher, runner, guard or command
    fault: str
    choice: float  # which of those that there are

    @classmethod
    def of(cls, seed: int) -> Plan:
        chance = random.Random(seed)
        phase = chance.choices(list(PHASES), [1, 3, 4, 3])[0]
        parts, longest = PHASES[phase]
        part = chance.choice(parts)
        faults = ["kill", "pause"] if part == "launcher" else ["kill", "pause", "stop"]
        return cls(
            seed=seed,
            workers=chance.choice([1, 2, 2, 3]),
            fails=chance.random() < 0.25,
            pause=round(chance.uniform(0.1, 0.4), 2),
            phase=phase,
            after=round(chance.uniform(0.0, longest), 3),
            part=part,
            fault=chance.choice(faults),
            choice=chance.random(),
        )


@dataclass
class Run:
    """What became of a plan."""

    plan: Plan
    code: int
    out: str
    err: str
    done: dict[int, int]  # worker -> the code it was about to exit with
    hit: str | None  # the part that was hit; None if it was not there
    victim: int | None = None  # whose part it was


def carry_out(plan: Plan, place: Path) -> Run:
    """Raises subprocess.TimeoutExpired if the run does not end."""
    done, temporary = place / "done", place / "tmp"
    done.mkdir()
    temporary.mkdir()
    with open(place / "out", "wb") as out, open(place / "err", "wb") as err:
        launcher = subprocess.Popen(
            [sys.executable, "-m", "tfmesos", "-w", str(plan.workers), "--", _command(plan, place)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=environment(TMPDIR=str(temporary)),
        )
        hit, worker = _strike(plan, launcher, place)
        (place / "go").touch()
        code = launcher.wait(ENDS_WITHIN)
    codes = {int(word.name): int(word.read_text() or -1) for word in done.iterdir()}
    texts = ((place / name).read_text() for name in ("out", "err"))
    return Run(plan, code, *texts, codes, hit, worker)


def _command(plan: Plan, place: Path) -> str:
    return COMMAND.format(
        half=LINES // 2,
        next=LINES // 2 + 1,
        lines=LINES,
        pause=f"sleep {plan.pause}" if plan.pause is not None else _until_there(place / "go"),
        begun=place / "begun",
        done=place / "done",
        code=FAILS_WITH if plan.fails else 0,
    )


def _until_there(file: Path) -> str:
    return f"until [ -e {file} ]; do sleep 0.02; done"


def _strike(plan: Plan, launcher: Launcher, place: Path) -> tuple[str | None, int | None]:
    """The part that was hit, and whose it was; None if the run ended before."""
    _until(lambda: _has_begun(plan.phase, launcher, place), launcher)
    time.sleep(plan.after)  # the random time; nothing waits for it
    hit = _until(lambda: _try_to_hit(plan, launcher), launcher)
    return hit[0] if hit else (None, None)


def _try_to_hit(plan: Plan, launcher: Launcher) -> list[tuple[str, int | None]]:
    try:
        there = those_of(plan.part, psutil.Process(launcher.pid))
        victim = there[int(plan.choice * len(there))]
        worker = _worker(victim)
        _FAULTS[plan.fault](victim, launcher)
    except (IndexError, psutil.Error):
        return []  # it has ended, or not begun
    return [(plan.part, worker)]


def _until(look: Callable[[], Sequence[Any]], launcher: Launcher) -> Sequence[Any]:
    """What *look* finds at last; nothing if the launcher has ended before."""
    while launcher.poll() is None:
        if found := look():
            return found
        time.sleep(LOOK_AGAIN)
    return []


def _has_begun(phase: str, launcher: Launcher, place: Path) -> Sequence[Any]:
    """What shows that the phase has begun."""
    if phase == "starting":
        return those_of("runner", psutil.Process(launcher.pid))
    signs = {"set-up": [place], "running": place.glob("begun"), "stopping": place.glob("done/*")}
    return list(signs[phase])


def those_of(part: str, launcher: psutil.Process) -> list[psutil.Process]:
    if part == "launcher":
        return [launcher]
    below = _below(launcher)
    # What it has forked has its command line, too.
    parents = [child for child, of in below if of == launcher.pid and _forks_runners(child)]
    if part == "parent":
        return parents
    above = {launcher.pid, *(parent.pid for parent in parents)}
    runners = [child for child, of in below if of in above and _worker(child) is not None]
    if part == "runner":
        return runners
    # The guard is there before any command, and both are forks of the runner at first.
    is_guard = part == "guard"
    families = [[child for child, of in below if of == runner.pid] for runner in runners]
    return [p for family in families for p in (family[:1] if is_guard else family[1:])]


def _below(launcher: psutil.Process) -> list[tuple[psutil.Process, int]]:
    """All processes beneath it, the oldest first, and their parents; by one look, which is slow."""
    found = []
    for process in launcher.children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            found.append((process.create_time(), process.pid, process, process.ppid()))
    return [(process, parent) for _, _, process, parent in sorted(found, key=lambda it: it[:2])]


def _forks_runners(process: psutil.Process) -> bool:
    try:
        return any(".forks" in word for word in process.cmdline())
    except psutil.Error:
        return False


def _worker(process: psutil.Process) -> int | None:
    """Whose process it is; None for one that has ended, and for the launcher and its forks.

    A fork that has executed nothing yet holds the launcher up: nobody stops that for good.
    """
    try:
        task = process.environ().get("MESOS_SANDBOX", "")
    except psutil.Error:
        return None
    found = re.search(r"-worker-(\d+)-", task)
    return int(found[1]) if found else None


def _kill(victim: psutil.Process, launcher: Launcher) -> None:
    victim.kill()


def _pause(victim: psutil.Process, launcher: Launcher) -> None:
    victim.suspend()
    time.sleep(0.3)
    with suppress(psutil.NoSuchProcess):  # it was killed meanwhile
        victim.resume()


def _stop(victim: psutil.Process, launcher: Launcher) -> None:
    """For good; the user gives up."""
    victim.suspend()
    time.sleep(0.1)
    launcher.send_signal(signal.SIGINT)


_FAULTS: dict[str, Callable[[psutil.Process, Launcher], None]] = {
    "kill": _kill,
    "pause": _pause,
    "stop": _stop,
}


def wrongs(run: Run) -> list[str]:
    """What does not hold of a run that has ended."""
    return [*_wrong_code(run), *_wrong_lines(run)]


def _wrong_code(run: Run) -> list[str]:
    plan, succeeded = run.plan, list(run.done.values()).count(0) == run.plan.workers
    if run.code == 0 and not succeeded:
        return [f"it exited with 0, but these workers were done: {run.done}"]
    is_harmless = run.hit is None or plan.fault == "pause" or (run.hit, plan.fault) in _NO_HARM
    expected = FAILS_WITH if plan.fails else 0
    if is_harmless and run.code != expected:
        return [f"it exited with {run.code} and not with {expected} although nothing was harmed"]
    if run.hit == "launcher" and plan.fault == "kill" and run.code not in (-9, expected):
        return [f"it was killed and exited with {run.code}"]
    return []


_NO_HARM = [("guard", "kill"), ("parent", "kill")]


def _wrong_lines(run: Run) -> list[str]:
    """Of a worker that was done, whose runner lived, each line is shown or said to be left out."""
    if run.code < 0:
        return []  # nobody was there to show them
    shown = Counter(re.findall(r"^\[worker:(\d)\] \d+ \d+$", run.out, re.MULTILINE))
    for worker, number in LEFT_OUT.findall(run.err):
        shown[worker] += int(number)
    spared = [w for w in run.done if not (run.hit in ("runner", "command") and w == run.victim)]
    return [
        f"of the {LINES} lines of worker:{worker} {shown[str(worker)]} are accounted for"
        for worker in spared
        if shown[str(worker)] != LINES
    ]


def what_is_left(place: Path, before: set[psutil.Process]) -> list[str]:
    """Processes, and with them their ports; and directories, once the next run has looked."""
    _, late = psutil.wait_procs(
        [process for process in living_children() if process not in before], LEAVES_WITHIN
    )
    late = [process for process in late if is_alive(process)]
    left = [f"it left {describe(process)}" for process in late]
    for process in late:
        process.kill()
    reap()
    remove_abandoned(place / "tmp")
    return left + [f"it left {path}" for path in (place / "tmp").iterdir() if not _is_trial(path)]


def _is_trial(path: Path) -> bool:
    """Did Python's tempfile try the directory with it? It may be killed before it removes that."""
    return re.fullmatch(r"[a-z0-9_]{8}", path.name) is not None and path.is_file()


def findings(seed: int, hits: Counter[str] | None = None) -> list[str]:
    """What is wrong with the run of this seed; *hits* counts the faults that met somebody."""
    before = set(living_children())
    with tempfile.TemporaryDirectory() as directory:
        place, problems = Path(directory), []
        try:
            run = carry_out(Plan.of(seed), place)
            problems = wrongs(run)
            if run.hit and hits is not None:
                hits[f"{run.plan.phase} {run.hit} {run.plan.fault}"] += 1
        except subprocess.TimeoutExpired:
            problems = [f"it had not ended after {ENDS_WITHIN:g} s"]
        problems += what_is_left(place, before)
        if problems:
            problems.append((place / "err").read_text()[-2000:])
    return problems


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.random_faults")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args(argv)
    found, hits, began = [], Counter[str](), time.monotonic()
    for seed in range(args.seed, args.seed + args.runs):
        if problems := findings(seed, hits):
            found.append(seed)
            print(f"\nseed {seed}: {Plan.of(seed)}", *problems, sep="\n  ", flush=True)
        number, took = seed - args.seed + 1, time.monotonic() - began
        progress = f"{number} of {args.runs} runs, {took:.0f} s, {len(found)} findings"
        print(f"\r{progress}", end="", flush=True)
    print(f"\n{hits.total()} of {args.runs} faults hit a living process:")
    print(", ".join(f"{fault} {times}" for fault, times in sorted(hits.items())))
    print(f"findings: seeds {found}" if found else "no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
