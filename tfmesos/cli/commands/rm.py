"""``tfrun rm``."""

from __future__ import annotations

import argparse

from ...errors import TFMesosError
from ...runs.prune import remove
from ...runs.takeover.lost_runs import adoptable_until
from .answer import say
from .choice import the_run
from .common_arguments import THE_RUN, Argument

HELP = "remove the record of a run that is over"
ARGUMENTS: tuple[Argument, ...] = (THE_RUN,)


class StillAlive(TFMesosError):
    exit_code = 2


def run(args: argparse.Namespace) -> int:
    found = the_run(args.id)
    if not found.is_over:
        raise StillAlive(f"run {found.id} has not ended: stop it first, with tfrun stop {found.id}")
    if adoptable_until(found) is not None:
        problem = "its launcher is gone, but its tasks are waiting for another one"
        raise StillAlive(f"run {found.id}: {problem}: stop it first, with tfrun stop {found.id}")
    remove(found)
    say(f"removed the record of {found.id}")
    return 0
