"""From the last exit to the prompt, and from Ctrl-C to nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from bench import programs
from bench.timing import Measured, Result

SIZES = [1, 8, 64]
SLEEP = "import os;os.execvp('sleep',['sleep','1000.5'])"


def run(sizes: Sequence[int] = SIZES, times: int = 3) -> Result:
    result = Result("teardown", "teardown: N tasks, from their end to the prompt", "N")
    result.contest({"last exit": _after_the_last_exit}, list(sizes), times)
    result.contest({"Ctrl-C": _after_interrupt}, list(sizes), times)
    if max(sizes) == max(SIZES):
        result.aim("teardown of 64 tasks", result.median("seconds", "last exit", 64), 0.5, "s")
    return result


def _after_the_last_exit(tasks: int) -> Measured:
    """The tasks note their ends as the last thing they do."""
    with programs.marks() as marks:
        programs.run(
            programs.tfrun(tasks, *marks.noting(before="import time", after="os._exit(0)"))
        )
        return {"seconds": time.time() - max(marks.moments())}


def _after_interrupt(tasks: int) -> Measured:
    with programs.marks() as marks:
        argv = programs.tfrun(tasks, *marks.noting(after=SLEEP))
        nothing = subprocess.DEVNULL
        process = subprocess.Popen(argv, env=programs.ENVIRONMENT, stderr=nothing)
        marks.wait_for(tasks)
        start = time.perf_counter()
        process.send_signal(signal.SIGINT)
        process.wait()
        while _sleepers():
            time.sleep(0.002)
        return {"seconds": time.perf_counter() - start}


def _sleepers() -> list[str]:
    """Tasks that are still there."""
    return [name for name in os.listdir("/proc") if name.isdigit() and _is_sleeper(name)]


def _is_sleeper(pid: str) -> bool:
    try:
        return Path("/proc", pid, "cmdline").read_bytes() == b"sleep\x001000.5\x00"
    except OSError:
        return False
