"""Start-up on a genuine Mesos: tfrun beside a framework that does nothing but launch."""

from __future__ import annotations

import asyncio
import importlib.util
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench import programs
from bench.timing import Measured, Result

SIZES = [3, 8, 64]  # 3: two workers and a ps
# Ports above those of the tests (tests/ports.py) and below those of the kernel.
AGENTS = {
    "node-1": "cpus:64;mem:16384;disk:1024;ports:[30000-30099]",
    "node-2": "cpus:64;mem:16384;disk:1024;ports:[30100-30199]",
}
UNTIL_RUNNING = "all run (s)"
BARE, OURS = "Mesos itself", "tfrun"


def run(sizes: Sequence[int] = SIZES, times: int = 3) -> Result:
    result = Result("mesos", "mesos: N tasks on a genuine Mesos of two agents", "N")
    if reason := _missing():
        result.notes.append(f"no genuine Mesos can run here: {reason}: left out")
        return result
    with _master() as address:
        contestants = {BARE: lambda n: _bare(address, n), OURS: lambda n: _tfrun(address, n)}
        result.contest(contestants, list(sizes), times)
    for size in sizes:
        more = result.median(UNTIL_RUNNING, OURS, size) - result.median(UNTIL_RUNNING, BARE, size)
        result.notes.append(f"tfrun above Mesos itself at N = {size}: {more:.2f} s")
        if size == 8:
            result.aim("8 tasks on a genuine Mesos, above its own time", more, 0.5, "s")
    return result


def _missing() -> str:
    if importlib.util.find_spec("psutil") is None:
        return "psutil is not installed"
    from tests.mesos.genuine import build

    try:
        build.rig()
    except build.CannotRun as reason:
        return str(reason)
    return ""


@contextmanager
def _master() -> Iterator[str]:
    from tests.mesos.genuine import build
    from tests.mesos.genuine.cluster import Mesos

    with tempfile.TemporaryDirectory(prefix="bench-") as root:
        with Mesos(build.rig(), Path(root, "mesos")) as mesos:
            master = mesos.start_master()
            for hostname, resources in AGENTS.items():
                mesos.start_agent(hostname, resources)
            master.wait_for(*AGENTS)
            yield master.address


def _bare(address: str, tasks: int) -> Measured:
    """From the subscription until the last TASK_RUNNING; the commands are shells that wait."""
    from tests.mesos.genuine.framework import Framework, a_task

    async def scenario() -> float:
        start = time.perf_counter()
        async with Framework(f"http://{address}").subscribed() as framework:
            offers = await framework.offers(*AGENTS)
            for number, offer in enumerate(offers.values()):
                names = [f"t{each}" for each in range(number, tasks, len(offers))]
                launched = [a_task("exec sleep 1000", name, cpus=0.1) for name in names]
                await framework.launch(offer, *launched)
            running: set[str] = set()
            while len(running) < tasks:
                status = (await framework.next("UPDATE"))["update"]["status"]
                if status["state"] == "TASK_RUNNING":
                    running.add(status["task_id"]["value"])
            return time.perf_counter() - start

    return {UNTIL_RUNNING: asyncio.run(scenario())}


def _tfrun(address: str, tasks: int) -> Measured:
    """From the command until the last task runs the user's code."""
    flags = ["-m", address, "-Cw", "0.1", "-Mw", "32", "-Cs", "0.1", "-Ms", "32"]
    number = ["-w", str(tasks - 1), "-s", "1"]
    with programs.marks() as marks:
        start = time.time()
        programs.run([programs.TFRUN, *number, *flags, "--", *marks.noting()])
        return {UNTIL_RUNNING: max(marks.moments()) - start}
