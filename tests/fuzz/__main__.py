"""python -m tests.fuzz [--seconds S] [TARGET ...]: run each fuzzer for so long."""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings

from .endpoints import fuzzed_endpoints
from .targets import TARGETS, Target

ROUND = 200  # inputs between two looks at the clock
FUZZING = settings(
    max_examples=ROUND,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


def fuzz(target: Target, seconds: float) -> int:
    """Try inputs for so long; how many they were. Raises what the first bad one does."""
    tried = 0

    @FUZZING
    @given(target.inputs)
    def check(value: Any) -> None:
        nonlocal tried
        tried += 1
        target.check(value)

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check()
    return tried


def run(name: str, seconds: float, fuzzer: Callable[[float], int]) -> bool:
    print(f"fuzzing {name} for {seconds:g} s ... ", end="", flush=True)
    try:
        print(f"{fuzzer(seconds)} inputs, no finding", flush=True)
        return True
    except Exception:
        print("a finding:", flush=True)
        traceback.print_exc(limit=-8)
        return False


def main() -> int:
    logging.disable()  # what the embedded Mesos logs of bad requests
    with fuzzed_endpoints() as endpoints:
        targets = {**TARGETS, "endpoints": endpoints}
        parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
        parser.add_argument("--seconds", type=float, default=60.0, help="for each target (60)")
        parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets))
        args = parser.parse_args()
        if unknown := set(args.targets) - set(targets):
            parser.error(f"no such target: {', '.join(unknown)}; there are {', '.join(targets)}")
        chosen = args.targets or list(targets)
        results = [
            run(name, args.seconds, lambda seconds, name=name: fuzz(targets[name], seconds))
            for name in chosen
        ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
