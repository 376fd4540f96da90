"""``tfrun continue``."""

from __future__ import annotations

import argparse

from ...runs.control import ask
from .answer import say
from .arguments import LIVING, Argument
from .choice import living_run

HELP = "let the tasks end that --pause-on-failure holds"
ARGUMENTS: tuple[Argument, ...] = (LIVING,)


def run(args: argparse.Namespace) -> int:
    found = living_run(args.id)
    ask(found, "continue")
    say(f"{found.id} goes on")
    return 0
