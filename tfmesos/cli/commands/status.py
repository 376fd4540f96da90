"""``tfrun status``."""

from __future__ import annotations

import argparse
import time

from ...runs.listing import as_json, status_of
from .answer import lines, narrow, out, out_json
from .choice import living_or_latest
from .common_arguments import JSON, LATEST, Argument

HELP = "show where a run and each of its tasks stand"
ARGUMENTS: tuple[Argument, ...] = (LATEST, JSON)


def run(args: argparse.Namespace) -> int:
    found, now = living_or_latest(args.id), time.time()
    if args.json:
        out_json(as_json(found, now))
    else:
        out(lines(status_of(found, now, narrow)))
    return 0
