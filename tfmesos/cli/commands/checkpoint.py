"""``tfrun checkpoint``: have all tasks write one."""

from __future__ import annotations

import argparse

from ...runs.control import ask
from ...runs.status import status_now
from .answer import say
from .choice import living_run
from .common_arguments import LIVING, NO_WAIT, Argument
from .update import wait_for_generation

HELP = (
    "stop all tasks together so that each writes a checkpoint, within its grace period; with "
    "--restart-policy all, the tasks start again, otherwise the run ends with exit code 75"
)
ARGUMENTS: tuple[Argument, ...] = (LIVING, NO_WAIT)


def run(args: argparse.Namespace) -> int:
    found = living_run(args.id)
    number = status_now(found).generation
    ask(found, "checkpoint")
    say(f"{found.id}: stopping all tasks")
    hint = "; with --restart-policy all, the run would continue"
    return 0 if args.no_wait else wait_for_generation(found, number + 1, hint)
