"""``tfrun logs``."""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Iterable

from ...errors import TFMesosError
from ...runs.following import Output, Shown
from ...runs.recorder import SAID
from ...runs.run_files import RunDirectory
from ...runs.status import status_now
from . import common_arguments
from .answer import show
from .choice import living_or_latest, say_what_is_missing, task_of
from .common_arguments import LATEST, TASK_HELP, Argument, switch


class NoSuchGeneration(TFMesosError):
    exit_code = 2


HELP = "show the output of the tasks of a run"
ARGUMENTS: tuple[Argument, ...] = (
    LATEST,
    (("task",), {"nargs": "?", "metavar": "TASK", "help": TASK_HELP}),
    switch("-f", "--follow", help="follow the output until the run ends"),
    (
        ("--since",),
        {
            "type": common_arguments.time,
            "metavar": "TIME",
            "help": "show only lines of the last TIME, such as 10m",
        },
    ),
    (
        ("--tail",),
        {"type": common_arguments.number, "metavar": "N", "help": "show only the last N lines"},
    ),
    (
        ("--generation",),
        {
            "type": common_arguments.number,
            "metavar": "N",
            "help": "show only the output of generation N",
        },
    ),
    switch("--timestamps", help="prefix each line with its time"),
)


def run(args: argparse.Namespace) -> int:
    if args.id and (":" in args.id or args.id == SAID) and not args.task:
        args.id, args.task = None, args.id
    found = living_or_latest(args.id)
    output = Output(found, [task_of(found, args.task)] if args.task else None)
    since = 0.0 if args.since is None else time.time() - args.since
    tail = args.tail
    for batch in output.follow() if args.follow else [output.read()]:
        lines: Iterable[Shown] = batch
        if args.generation is not None:
            lines = _written_by(args.generation, found, batch)
        if tail is not None:  # of what was there at first
            lines, tail = deque(lines, tail), None
        show(lines, since, is_alone=bool(args.task), times=args.timestamps)
    say_what_is_missing(found)
    return 0


def _written_by(generation: int, run: RunDirectory, lines: Iterable[Shown]) -> Iterable[Shown]:
    span = status_now(run).span(generation)
    if span is None:
        raise NoSuchGeneration(f"run {run.id} has no generation {generation}")
    begin, end = span
    return (one for one in lines if begin <= one[1].at < end)
