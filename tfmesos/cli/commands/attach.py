"""``tfrun attach``."""

from __future__ import annotations

import argparse
import time

from ...runs.following import Output
from .answer import say, show
from .arguments import LIVING, Argument
from .choice import end_of, living_run

HELP = "show the output of a run from now on; Ctrl-C leaves the run running"
ARGUMENTS: tuple[Argument, ...] = (LIVING,)


def run(args: argparse.Namespace) -> int:
    found, since = living_run(args.id), time.time()
    try:
        if not found.is_over:
            say(f"attached to {found.id}; Ctrl-C leaves it running")
            for batch in Output(found, None).follow():
                show(batch, since)
    except KeyboardInterrupt:
        say(f"detached: {found.id} goes on")
        return 0
    return end_of(found)
