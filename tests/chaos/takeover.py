"""Launchers that are killed at random moments, each time with another one that goes on.

    python -m tests.chaos.takeover --runs 200 --seed 1 [--workers 8]
        [--genuine | --kubernetes | --slurm]

Every task writes numbered lines and leaves word of each start. However often the launcher was
killed: nothing that ran is started again, every line is in the record once and in its order, the
exit code is that of the tasks, and nothing is left. Run number n of seed s is run 0 of seed s + n.
``--kubernetes`` uses the cluster that ``python -m tests.kubernetes.genuine`` keeps: $KUBECONFIG.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from tests.bounds import HANG
from tests.commands import environment, standing_mesos
from tests.ports import offered_ports
from tests.slurm.genuine.cluster import Slurm

LINES = 300
FAILS_WITH = 3
RETRIED = 42  # worth a restart
LOOK_AGAIN = 0.002  # seconds between two looks at the record
# A task leaves word of its start, writes a half of its lines at once and the others slowly.
COMMAND = (
    "echo x >> {directory}/started-{{task_index}}; "
    "if [ {{task_index}} = 0 ] && [ {retries} = 1 ] && [ ! -e {directory}/again ]; then "
    "touch {directory}/again; sleep 0.2; exit {retried}; fi; "
    "seq -f '{{task_index}} %g' {half}; "
    "i={half}; while [ $i -lt {lines} ]; do i=$((i + 10)); "
    "seq -f '{{task_index}} %g' $((i - 9)) $i; sleep 0.05; done; "
    "if [ {{task_index}} = 1 ]; then exit {code}; fi; "
    "if [ {code} != 0 ]; then exec sleep 60; fi"
)
# Phase -> what the record says when it begins, and the seconds after that in which a kill falls.
PHASES = {
    "before": ("", 1.0),
    "placing": ('"beginning"', 0.5),
    "running": ("TaskReady", 1.5),
    "restarting": (f'"code": {RETRIED}', 1.2),
    "stopping": (f'"code": {FAILS_WITH}', 0.6),
}


@dataclass(frozen=True)
class Plan:
    seed: int
    phase: str
    after: float
    kills: int

    @classmethod
    def of(cls, seed: int) -> Plan:
        chance = random.Random(seed)
        phase = list(PHASES)[seed % len(PHASES)]
        return cls(seed, phase, PHASES[phase][1] * chance.random(), chance.choice([1, 1, 2, 3]))


class Place:
    """Where the tasks of a case run."""

    policy = "task"  # for restarts
    environment: Mapping[str, str] = MappingProxyType({})  # by which its commands find it

    def __init__(self, master: str) -> None:
        self._master = master

    def flags(self, directory: Path) -> list[str]:
        return ["-m", self._master]

    def left(self) -> list[str]:
        """Objects of runs, beside their processes."""
        return []


class OnKubernetes(Place):
    """The cluster, and the namespace, of $KUBECONFIG."""

    policy = "all"

    def __init__(self, image: str) -> None:
        super().__init__("k8s://")
        self._image = image

    def flags(self, directory: Path) -> list[str]:
        return [*super().flags(directory), "--image", self._image, "-V", f"{directory}:{directory}"]

    def left(self) -> list[str]:
        """But for what was deleted: a kubelet takes up to a minute to have a pod gone."""
        asked = ["kubectl", "get", "configmaps,secrets,pods", "-o", "json", "-l"]
        asked.append("app.kubernetes.io/managed-by=tfrun")
        done = subprocess.run(asked, capture_output=True, text=True, check=True)
        found = [one["metadata"] for one in json.loads(done.stdout)["items"]]
        return [one["name"] for one in found if not one.get("deletionTimestamp")]


class OnSlurm(Place):
    def __init__(self, slurm: Slurm) -> None:
        super().__init__("slurm://")
        self._slurm = slurm

    @property
    def environment(self) -> Mapping[str, str]:
        return self._slurm.environment

    def left(self) -> list[str]:
        return [*self._slurm.jobs(), *self._slurm.processes()]


class Case:
    def __init__(self, plan: Plan, place: Place, workers: int, directory: Path) -> None:
        self.plan = plan
        self._place = place
        self._workers = workers
        self._directory = directory
        self._chance = random.Random(plan.seed + 1)
        self.code = FAILS_WITH if plan.phase == "stopping" else 0
        self._env = environment(XDG_STATE_HOME=str(directory / "state"), **place.environment)
        (directory / "state").mkdir(mode=0o700)

    def carry_out(self) -> list[str]:
        """What is wrong, if anything is."""
        launcher = self._tfrun(*self._arguments())
        self._wait_for_phase(launcher)
        time.sleep(self.plan.after)
        ended, err = _kill(launcher)
        for _ in range(self.plan.kills - 1):
            if ended is not None or not self._is_lost():
                break
            adopter = self._tfrun("adopt", self._run().name, "--detach")
            _, err = adopter.communicate(timeout=HANG)
            if adopter.returncode:
                return [f"not adopted: {adopter.returncode} {err}"]
            time.sleep(1.5 * self._chance.random())
            self._kill_adopter()
        if ended is None and self._is_lost():
            adopter = self._tfrun("adopt", self._run().name)
            _, err = adopter.communicate(timeout=HANG)
            ended = adopter.returncode
        elif ended is None:
            ended = self._wait_for_end()
        return [*self._wrongs(ended, err), *self._left()]

    def _arguments(self) -> list[str]:
        retries = self.plan.phase == "restarting"
        script = COMMAND.format(
            directory=self._directory,
            half=LINES // 2,
            lines=LINES,
            code=self.code,
            retries=int(retries),
            retried=RETRIED,
        )
        policy = ["--restart-policy", self._place.policy] if retries else []
        return [*self._place.flags(self._directory), "-w", str(self._workers), "-Cw", "0.1",
                "-Mw", "32", *policy, "--survive", "120", "--", script]  # fmt: skip

    def _tfrun(self, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tfmesos", *args],
            env=self._env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _run(self) -> Path:
        (found,) = (self._directory / "state" / "tfmesos" / "runs").iterdir()
        return found

    def _events(self) -> str:
        root = self._directory / "state" / "tfmesos" / "runs"
        return "".join(path.read_text() for path in root.glob("*/events.jsonl"))

    def _wait_for_phase(self, launcher: subprocess.Popen[str]) -> None:
        word, end = PHASES[self.plan.phase][0], time.monotonic() + HANG
        while word and word not in self._events() and launcher.poll() is None:
            assert time.monotonic() < end, f"no {word} in the record"
            time.sleep(LOOK_AGAIN)

    def _is_lost(self) -> bool:
        """Is there a run that has begun and not ended?"""
        return '"beginning"' in self._events() and not (self._run() / "outcome.json").exists()

    def _kill_adopter(self) -> None:
        launcher = json.loads((self._run() / "run.json").read_text())["launcher"]
        try:
            os.kill(launcher["pid"], signal.SIGKILL)
        except ProcessLookupError:
            return
        while Path(f"/proc/{launcher['pid']}").exists() and not _is_zombie(launcher["pid"]):
            time.sleep(LOOK_AGAIN)

    def _wait_for_end(self) -> int | None:
        if '"beginning"' not in self._events():
            return None  # it was killed before there was a run
        end = time.monotonic() + HANG
        while not (self._run() / "outcome.json").exists():
            assert time.monotonic() < end, "the run does not end"
            time.sleep(0.05)
        return int(json.loads((self._run() / "outcome.json").read_text())["exit_code"])

    def _wrongs(self, ended: int | None, err: str) -> Iterator[str]:
        starts = {
            number: len(path.read_text().split())
            for number in range(self._workers)
            if (path := self._directory / f"started-{number}").exists()
        }
        if ended is None:
            yield from [f"started without a run: {starts}"] if starts else []
            return
        if ended != self.code:
            yield f"exited with {ended} and not with {self.code}: {err}"
        for number, times in starts.items():
            allowed = 2 if self._is_restarted(number) else 1
            if times > allowed:
                yield f"worker:{number} was started {times} times"
        if not self.code:
            for number in range(self._workers):
                yield from self._wrong_lines(number)

    def _is_restarted(self, number: int) -> bool:
        return self.plan.phase == "restarting" and (number == 0 or self._place.policy == "all")

    def _wrong_lines(self, number: int) -> Iterator[str]:
        log = self._run() / "output" / f"worker-{number}.log"
        text = log.read_text() if log.exists() else ""
        found = [line.split(" ", 2)[2] for line in text.splitlines()]
        expected = [f"{number} {line}" for line in range(1, LINES + 1)]
        before = len(found) - LINES if self._is_restarted(number) else 0  # lines of its first life
        if found != [*expected[: max(before, 0)], *expected]:
            counts = Counter(found)
            twice = [line for line, times in counts.items() if times > 1][:5]
            missing = [line for line in expected if line not in counts][:5]
            yield f"worker:{number} has {len(found)} lines, twice {twice}, missing {missing}"

    def _left(self) -> Iterator[str]:
        """Processes of tasks name the directory; they may take a moment to be gone."""
        end = time.monotonic() + HANG
        while left := [*_naming(str(self._directory)), *self._place.left()]:
            if time.monotonic() > end:
                yield f"left running: {left}"
                return
            time.sleep(0.1)
        root = self._directory / "state" / "tfmesos" / "runs"
        # One that was killed when it had written its last word leaves them to the next run.
        lost = [path for path in root.glob("*") if not (path / "outcome.json").exists()]
        begun = lost if '"beginning"' in self._events() else []
        keys = [path / "keys" for path in begun if (path / "keys").exists()]
        yield from [f"left behind: {keys}"] if keys else []


def _kill(launcher: subprocess.Popen[str]) -> tuple[int | None, str]:
    """Its exit code if it had ended before, and what it said."""
    launcher.kill()
    _, err = launcher.communicate(timeout=HANG)
    return (None if launcher.returncode == -signal.SIGKILL else launcher.returncode), err


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] in "ZX"
    except OSError:
        return True


def _naming(directory: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if directory in command and path.parent.name != str(os.getpid()):
            found.append(f"{path.parent.name} {command[:200]}")
    return found


def findings(seed: int, place: Place, workers: int) -> list[str]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        plan = Plan.of(seed)
        problems = Case(plan, place, workers, Path(directory)).carry_out()
        return [f"{plan}: {problem}" for problem in problems]


@contextmanager
def standing_kubernetes() -> Iterator[Place]:
    yield OnKubernetes("tfmesos-tests/base:1")


@contextmanager
def embedded_mesos() -> Iterator[Place]:
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield Place(url.removeprefix("http://"))


@contextmanager
def genuine_mesos() -> Iterator[Place]:
    from tests.mesos.genuine import build
    from tests.mesos.genuine.cluster import Mesos

    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        mesos = stack.enter_context(Mesos(build.rig(), Path(directory)))
        yield Place(mesos.start("node-1", "node-2").address)


@contextmanager
def genuine_slurm() -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="tfmesos-slurm-") as directory:
        with Slurm(Path(directory) / "slurm") as slurm:
            yield OnSlurm(slurm)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=8)
    where = parser.add_mutually_exclusive_group()
    where.set_defaults(place=embedded_mesos)
    for flag, place, words in (
        ("--genuine", genuine_mesos, "on a genuine Mesos"),
        ("--kubernetes", standing_kubernetes, "on a genuine Kubernetes that stands"),
        ("--slurm", genuine_slurm, "on a genuine Slurm"),
    ):
        where.add_argument(flag, dest="place", action="store_const", const=place, help=words)
    args = parser.parse_args()
    bad = 0
    with args.place() as place:
        for seed in range(args.seed, args.seed + args.runs):
            began = time.monotonic()
            problems = findings(seed, place, args.workers)
            bad += bool(problems)
            took = time.monotonic() - began
            print(f"{seed} {Plan.of(seed).phase} {took:.1f} s", *problems or ["good"], flush=True)
    print(f"{args.runs} runs, {bad} findings")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
