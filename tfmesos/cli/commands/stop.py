"""``tfrun stop``."""

from __future__ import annotations

import argparse

from ...runs.control import ask
from ...runs.run_files import RunDirectory
from ...runs.takeover.lost_runs import adoptable_until
from ..adoption import in_background
from ..taking_over import end_by_keys
from . import common_arguments
from .answer import say
from .choice import living_run, until
from .common_arguments import LIVING, NO_WAIT, Argument

HELP = "stop all tasks of a run, and wait until they have ended"
ARGUMENTS: tuple[Argument, ...] = (
    LIVING,
    (
        ("--stop-grace",),
        {
            "type": common_arguments.time_above_zero,
            "metavar": "TIME",
            "help": "time before the tasks are killed, such as 60s",
        },
    ),
    NO_WAIT,
)


def run(args: argparse.Namespace) -> int:
    found = living_run(args.id)
    if adoptable_until(found) is not None:
        if in_background(found):
            end_by_keys(found)
            say(f"{found.id} has stopped: the engine has ended its tasks")
            return 0
        found = RunDirectory(found.path)
        if found.outcome is not None:  # it ended while nobody looked
            say(f"{found.id} has ended")
            return 0
    ask(found, "stop", grace=args.stop_grace)
    say(f"{found.id} is stopping")
    if args.no_wait:
        return 0
    until(lambda: found.is_over)
    say(f"{found.id} has stopped")
    return 0
