"""``tfrun stacks``."""

from __future__ import annotations

import argparse

from ...runs.inside.stacks import ask_stacks, grouped
from .answer import lines, out, out_json
from .choice import NoSuchTask, living_run, task_of
from .common_arguments import JSON, Argument, switch

HELP = "show what the Python processes of tasks are doing, grouped by stack"
USAGE = "tfrun stacks [-h] [--native] [--json] [ID] [TASK ...]"
ARGUMENTS: tuple[Argument, ...] = (
    switch("--native", help="also show frames of C code; this stops each process for a moment"),
    JSON,
    (
        ("words",),
        {
            "nargs": "*",
            "metavar": "[ID] [TASK ...]",
            "help": "id of the run (default: the only active run), and names of tasks, such as "
            "worker:0 (default: all)",
        },
    ),
)


def run(args: argparse.Namespace) -> int:
    words = [word for word in args.words if word != "all"]
    prefix = words.pop(0) if words and ":" not in words[0] else None
    found = living_run(prefix)
    there = [f"{job}:{n}" for job, number in found.jobs.items() for n in range(number)]
    tasks = [task_of(found, word) for word in words] or there
    if not tasks:
        raise NoSuchTask(f"run {found.id} has no task")
    answers = ask_stacks(found, tasks, native=args.native)
    out_json(answers) if args.json else out(lines(grouped(answers, found.jobs)))
    return 0 if any("threads" in answer for answer in answers) else 1
