"""``tfrun list``."""

from __future__ import annotations

import argparse
import time

from ...runs.listing import as_row_json, list_of
from ...text import count, join_names
from .answer import lines, narrow, out, out_json, say
from .choice import store
from .common_arguments import JSON, Argument, number, switch

HELP = "list the runs, newest first"
SHOWN = 20  # runs, unless more are requested
ARGUMENTS: tuple[Argument, ...] = (
    switch("-a", "--all", help=f"list all runs (default: the last {SHOWN})"),
    switch("--running", help="list only runs that are alive"),
    (("-n",), {"type": number, "metavar": "N", "help": "list at most the last N runs"}),
    JSON,
)


def run(args: argparse.Namespace) -> int:
    now = time.time()
    found, passed_over = store().scan()
    runs = [one for one in found if not args.running or not one.is_over]
    most = args.n if args.n is not None else None if args.all else SHOWN
    shown = runs[:most]
    if args.json:
        out_json([as_row_json(one, now) for one in shown])
    elif shown:
        out(lines(narrow(line) for line in list_of(shown, now)))
        if len(shown) < len(runs) and args.n is None:
            say(f"{count(len(runs) - len(shown), 'older run')} not listed: see tfrun list --all")
    else:
        say("no run is alive" if args.running else "there are no runs yet")
    if passed_over:
        why = join_names([f"{run_id} {why}" for run_id, why in passed_over.items()], most=3)
        say(f"{count(len(passed_over), 'run')} of {store().root} not listed: {why}")
    return 0
