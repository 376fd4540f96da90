"""``tfrun attach``."""

from __future__ import annotations

import argparse
import time

from ...runs.following import Output
from ...runs.run_files import RunDirectory
from .answer import say, screen, show
from .choice import end_of, living_run
from .common_arguments import LIVING, Argument

HELP = "follow the output and the tasks of a run; Ctrl-C leaves the run running"
ARGUMENTS: tuple[Argument, ...] = (LIVING,)


def run(args: argparse.Namespace) -> int:
    return follow(living_run(args.id), time.time())


def follow(found: RunDirectory, since: float) -> int:
    """Show what its tasks write, and return its exit code."""
    try:
        if not found.is_over:
            say(f"attached to {found.id}; Ctrl-C leaves it running")
            _follow(found, since)
    except KeyboardInterrupt:
        say(f"detached: {found.id} keeps running")
        return 0
    return end_of(found)


def _follow(run: RunDirectory, since: float) -> None:
    if screen.live:
        from .live_table import show_live  # with asyncio, which nobody else needs here

        show_live(run, since, screen)
        return
    for batch in Output(run, None).follow():
        show(batch, since)
