"""Runs that are updated, at once or in a rolling way, while random processes of theirs are killed
or paused.

    python -m tests.chaos.updates --runs 200 --seed 1

A run may end with 0 only if every task of its last generation has finished; nothing may be left.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.bounds import HANG
from tests.commands import environment
from tests.conftest import living_children
from tfmesos.errors import TFMesosError
from tfmesos.json_types import Json
from tfmesos.runs.control import ask
from tfmesos.runs.run_files import RunDirectory
from tfmesos.runs.status import status_now

from .random_faults import Launcher, _pause, those_of, what_is_left

UPDATES = 3  # of one run
PARTS = ("runner", "guard", "command", "parent", "runner", "command", "launcher")
LONGEST = 0.6  # seconds from an update to the fault: until the next generation runs
# Waits for word, then says of which generation it has finished which task.
COMMAND = (
    "while [ ! -e {place}/finish ]; do sleep 0.05; done; "
    ": > {place}/done/$TFMESOS_GENERATION-{{task_index}}"
)


def carry_out(seed: int, place: Path, hits: Counter[str]) -> list[str]:
    """What is wrong with the run of this seed. Raises TimeoutExpired if it does not end."""
    chance = random.Random(seed)
    (place / "done").mkdir()
    (place / "tmp").mkdir()
    flags = ("-w", "2", "--restart-policy", "all", "--restarts", "unlimited", "--stop-grace", "2")
    command = (sys.executable, "-m", "tfmesos", *flags, "--", COMMAND.format(place=place))
    state = {"XDG_STATE_HOME": str(place / "state"), "TMPDIR": str(place / "tmp")}
    with open(place / "out", "wb") as out, open(place / "err", "wb") as err:
        launcher = subprocess.Popen(command, env=environment(**state), stdout=out, stderr=err)
    try:
        for _ in range(UPDATES):
            _update(launcher, place, _change(chance))
            time.sleep(chance.random() * LONGEST)  # the random time; nothing waits for it
            _strike(launcher, chance, hits)
        (place / "finish").touch()
        code = launcher.wait(HANG)
    finally:
        launcher.kill()
        launcher.wait()
    return _wrongs(code, place)


def _change(chance: random.Random) -> Json:
    number, mem = chance.randint(1, 4), chance.choice([512, 1024, 2048])
    rolling = {"jobs": {"worker": {"mem": mem}}, "rolling": True}
    back = {"back": True, "rolling": chance.random() < 0.5}
    return chance.choice([{"jobs": {"worker": number}}, rolling, back])


def _update(launcher: Launcher, place: Path, change: Json) -> None:
    """As soon as the run takes it, or has ended; there may be nothing to go back to."""
    while launcher.poll() is None:
        with suppress(TFMesosError):
            for run in _record(place):
                ask(run, "update", changes=change)
                return
        if "back" in change and _record(place):
            return
        time.sleep(0.02)


def _strike(launcher: Launcher, chance: random.Random, hits: Counter[str]) -> None:
    part, fault, which = chance.choice(PARTS), chance.choice(["kill", "pause"]), chance.random()
    with suppress(IndexError, psutil.Error):  # there is none just now
        there = those_of(part, psutil.Process(launcher.pid))
        victim = there[int(which * len(there))]
        victim.kill() if fault == "kill" else _pause(victim, launcher)
        hits[f"{part} {fault}"] += 1


def _record(place: Path) -> list[RunDirectory]:
    return [RunDirectory(path.parent) for path in place.glob("state/tfmesos/runs/*/run.json")]


def _wrongs(code: int, place: Path) -> list[str]:
    if code == 70 or "internal error" in (place / "err").read_text():
        return [f"it ended with {code} by a fault of ours"]
    if code:
        return []
    (run,) = _record(place)
    last = status_now(run).generations[-1]
    done = {path.name for path in (place / "done").iterdir()}
    missing = {f"{last.number}-{n}" for n in range(last.shape["worker"])} - done
    return [f"it ended with 0, but {sorted(missing)} had not finished"] if missing else []


def findings(seed: int, hits: Counter[str]) -> list[str]:
    before = set(living_children())
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        try:
            problems = carry_out(seed, place, hits)
        except subprocess.TimeoutExpired:
            problems = [f"it had not ended after {HANG:g} s"]
        problems += what_is_left(place, before)
        if problems:
            problems.append((place / "err").read_text()[-2000:])
    return problems


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.updates")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    args = parser.parse_args(argv)
    found, hits = [], Counter[str]()
    for seed in range(args.seed, args.seed + args.runs):
        if problems := findings(seed, hits):
            found.append(seed)
            print(f"\nseed {seed}", *problems, sep="\n  ", flush=True)
    print(f"{hits.total()} faults in {args.runs} runs:", dict(sorted(hits.items())))
    print(f"findings: seeds {found}" if found else "no findings")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
