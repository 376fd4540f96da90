"""``tfrun prune``."""

from __future__ import annotations

import argparse
import time

from ...runs.prune import KEEP, prune
from ...text import count
from .answer import say
from .choice import store
from .common_arguments import Argument, number

HELP = "remove the records of old runs"
ARGUMENTS: tuple[Argument, ...] = (
    (
        ("--keep",),
        {
            "type": number,
            "default": KEEP,
            "metavar": "N",
            "help": "keep the last N runs (default: %(default)s)",
        },
    ),
)


def run(args: argparse.Namespace) -> int:
    gone = prune(store(), time.time(), keep=args.keep)
    say(f"{count(len(gone), 'run')} removed")
    return 0
