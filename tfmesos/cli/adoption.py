"""``tfrun adopt``; not in ``commands``, because it becomes a launcher."""

from __future__ import annotations

import argparse
import time

from ..runs.detaching import Handover
from ..runs.run_directories import NoSuchRun
from ..runs.run_files import RunDirectory
from ..runs.takeover.lost_runs import adoptable_until, check_lost
from ..text import join_names
from .commands import attach
from .commands.answer import out
from .commands.choice import store, the_run
from .commands.common_arguments import Argument, switch
from .taking_over import take_over

HELP = "take over a run whose launcher is gone, and show its output; Ctrl-C leaves it running"
ARGUMENTS: tuple[Argument, ...] = (
    (
        ("id",),
        {
            "nargs": "?",
            "metavar": "ID",
            "help": "id of the run; its first letters are enough (default: the only lost run)",
        },
    ),
    switch("--detach", help="print the id of the run instead of showing its output"),
)


def run(args: argparse.Namespace) -> int:
    found = the_run(args.id) if args.id is not None else _only_lost()
    check_lost(found)
    since = time.time()
    if code := in_background(found):
        return code
    if args.detach:
        out(f"{found.id}\n")
        return 0
    return attach.follow(RunDirectory(found.path), since)


def in_background(run: RunDirectory) -> int:
    """Let another process continue *run*; returns 0 when that works, or else its exit code."""
    handover = Handover()
    if handover.has_the_run:
        raise SystemExit(take_over(run, level="notice", handover=handover))
    _, code = handover.wait()
    return code


def _only_lost() -> RunDirectory:
    lost = [run for run in store().all() if adoptable_until(run) is not None]
    if len(lost) != 1:
        ids = join_names([run.id for run in lost])
        problem = f"several runs are lost: {ids}" if lost else "no lost run can be taken over"
        raise NoSuchRun(f"{problem}; give the ID of the run (see tfrun list)")
    return lost[0]
