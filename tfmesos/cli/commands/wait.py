"""``tfrun wait``."""

from __future__ import annotations

import argparse

from ...runs.live_status import LiveStatus
from ...runs.run_files import RunDirectory
from . import common_arguments
from .answer import say
from .choice import end_of, living_run, until
from .common_arguments import LIVING, Argument

TIMED_OUT = 124  # as timeout(1)
HELP = "wait for the end of a run, and exit with its exit code"
ARGUMENTS: tuple[Argument, ...] = (
    LIVING,
    (
        ("--timeout",),
        {
            "type": common_arguments.time,
            "metavar": "TIME",
            "help": f"stop waiting after this time and exit with {TIMED_OUT}",
        },
    ),
)


def run(args: argparse.Namespace) -> int:
    found = living_run(args.id)
    if found.launcher.is_alive is None:
        say(f"the launcher of {found.id} is on another machine: waiting for the end of its record")
    if not until(_Waiting(found).is_over, args.timeout):
        say(f"{found.id} has not ended within {args.timeout:g} s")
        return TIMED_OUT
    return end_of(found)


class _Waiting:
    """Wait for the end of a run. Says once if only TensorBoard is still running."""

    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._progress = LiveStatus(run)
        self._is_said = False

    def is_over(self) -> bool:
        if self._run.is_over:
            return True
        if not self._is_said and (status := self._progress.look()).stays_at:
            self._is_said = True
            say(f"{self._run.id}: {status.why}")
        return False
