"""``tfrun continue``."""

from __future__ import annotations

import argparse

from ...runs.control import ask
from .answer import say
from .choice import living_run
from .common_arguments import LIVING, Argument

HELP = "end the tasks that --pause-on-failure holds"
ARGUMENTS: tuple[Argument, ...] = (LIVING,)


def run(args: argparse.Namespace) -> int:
    found = living_run(args.id)
    ask(found, "continue")
    say(f"{found.id} continues")
    return 0
