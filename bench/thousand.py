"""A thousand tasks on this machine, against a shell that starts as many, two at a time."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence

from bench import programs, scale
from bench.timing import Measured, Result

SIZES = [64, 256, 1000]
AT_ONCE = 2


def run(sizes: Sequence[int] = SIZES, times: int = 1) -> Result:
    result = Result("thousand", "thousand: N x true on this machine", "N")
    result.contest({"shell": _through_shell, "tfrun": _through_tfrun}, list(sizes), times)
    for size in sizes:
        ratio = result.ratio(scale.WHOLE, "tfrun", "shell", size)
        result.notes.append(f"tfrun / shell at N = {size}: {ratio:.2f}")
        if size == max(SIZES):
            memory = result.median("memory (MiB)", "tfrun", size)
            result.aim(f"{size} x true here, beside the shell", ratio, 1.8)
            result.aim("the same: memory of the launcher", memory, 250, "MiB")
    if len(sizes) > 1:
        exponent = result.exponent(scale.WHOLE, "tfrun")
        result.aim(f"growth of time from {sizes[0]} tasks on", exponent, 1.05, "as exponent of N")
    return result


def _through_tfrun(tasks: int) -> Measured:
    return scale.launch(programs.tfrun(tasks, "true", flags=["-Mw", "32"]))


def _through_shell(tasks: int) -> Measured:
    """A Python for each, as every task has a runner, and then its command."""
    one = f"{shlex.quote(sys.executable)} -c pass; true"
    start = time.perf_counter()
    programs.run(["sh", "-c", f"seq {tasks} | xargs -P {AT_ONCE} -I N sh -c {shlex.quote(one)}"])
    return {scale.WHOLE: time.perf_counter() - start}
