"""The commands of ``tfrun`` that look at runs and control them: ``tfrun list`` and so on."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..command_line import CommandLine
from ..runs.control import ask
from ..runs.directory import RunDirectory
from ..runs.following import Output, Shown
from ..runs.listing import as_json, list_of, status_of
from ..runs.prune import KEEP, prune
from ..runs.store import NoSuchRun, Store, place
from ..sanitize import plain, tidy

LOOK_EVERY = 0.1  # seconds
LOST = 69  # EX_UNAVAILABLE: how a run ended is not known


def _store() -> Store:
    return Store(place(os.environ))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


def _list(args: argparse.Namespace) -> int:
    runs = _store().all()
    if runs:
        _print(list_of(runs, time.time()))
    else:
        print("there is no run yet", file=sys.stderr)
    return 0


def _status(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    if args.json:
        print(json.dumps(as_json(run, time.time()), indent=2))
    else:
        _print(status_of(run, time.time()))
    return 0


def _logs(args: argparse.Namespace) -> int:
    if args.id and ":" in args.id and not args.task:
        args.id, args.task = None, args.id
    run = _store().find(args.id)
    output = Output(run, [_task(run, args.task)] if args.task else None)
    since = 0.0 if args.since is None else time.time() - args.since
    _show(output.follow() if args.follow else output.read(), since, is_alone=bool(args.task))
    return 0


def _task(run: RunDirectory, name: str) -> str:
    there = [f"{job}:{n}" for job, number in run.about["jobs"].items() for n in range(number)]
    if name not in [*there, *run.logged()]:
        raise NoSuchRun(f"run {run.id} has no task {name!r}: there is {', '.join(there[:8])}")
    return name


def _show(output: Iterable[Shown], since: float, *, is_alone: bool = False) -> None:
    clean = tidy if sys.stdout.isatty() else str
    for name, line in output:
        if line.at >= since or not line.at:
            stream = sys.stdout if line.stream == "stdout" else sys.stderr
            stream.write(f"{clean(line.text)}\n" if is_alone else f"[{name}] {clean(line.text)}\n")
    sys.stdout.flush()


def _attach(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    if run.is_over:
        return _end_of(run)
    try:
        print(f"tfrun: attached to {run.id}; Ctrl-C leaves it running", file=sys.stderr)
        _show(Output(run, None).follow(), time.time())
    except KeyboardInterrupt:
        print(f"tfrun: detached: {run.id} goes on", file=sys.stderr)
        return 0
    return _end_of(run)


def _wait(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    while not run.is_over:
        time.sleep(LOOK_EVERY)
    return _end_of(run)


def _end_of(run: RunDirectory) -> int:
    """Say how it ended, and return its exit code."""
    outcome = run.outcome
    if outcome is None:
        print(f"tfrun: {run.id} is lost: its launcher has died", file=sys.stderr)
        return LOST
    for line in outcome.get("report", []):
        print(plain(line), file=sys.stderr)
    return int(outcome.get("exit_code", LOST))


def _stop(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    ask(run, "stop")
    while not run.is_over:
        time.sleep(LOOK_EVERY)
    return 0


def _restart(args: argparse.Namespace, elsewhere: bool = False) -> int:
    run = _store().find(args.id)
    ask(run, "restart", task=_task(run, args.task), elsewhere=elsewhere)
    return 0


def _replace(args: argparse.Namespace) -> int:
    return _restart(args, elsewhere=True)


def _prune(args: argparse.Namespace) -> int:
    gone = prune(_store(), time.time(), keep=args.keep)
    print(f"{len(gone)} runs removed", file=sys.stderr)
    return 0


_RUN = (("id",), {"nargs": "?", "metavar": "ID", "help": "of the run: its first letters will do"})
_THE_RUN = (("id",), {"metavar": "ID", "help": "of the run: its first letters will do"})

_THE_TASK = (("task",), {"metavar": "TASK", "help": "such as worker:0"})

Argument = tuple[tuple[str, ...], dict[str, Any]]
Row = tuple[Callable[[argparse.Namespace], int], str, tuple[Argument, ...]]

COMMANDS: dict[str, Row] = {
    "list": (_list, "the runs, the newest first", ()),
    "status": (
        _status,
        "where a run stands, and each of its tasks",
        (_RUN, (("--json",), {"action": "store_true", "help": "for programs"})),
    ),
    "logs": (
        _logs,
        "what its tasks wrote",
        (
            _RUN,
            (("task",), {"nargs": "?", "metavar": "TASK", "help": "such as worker:0"}),
            (("-f", "--follow"), {"action": "store_true", "help": "go on until the run ends"}),
            (("--since",), {"type": float, "metavar": "SECONDS", "help": "only the last ones"}),
        ),
    ),
    "attach": (_attach, "show its output from now on; Ctrl-C leaves it running", (_RUN,)),
    "wait": (_wait, "wait for its end, and exit with its code", (_THE_RUN,)),
    "stop": (_stop, "end all its tasks", (_THE_RUN,)),
    "restart": (_restart, "end a task and start it again at its place", (_THE_RUN, _THE_TASK)),
    "replace": (_replace, "end a task and start it again on another node", (_THE_RUN, _THE_TASK)),
    "prune": (
        _prune,
        "remove the records of old runs",
        ((("--keep",), {"type": int, "default": KEEP, "metavar": "N", "help": "the last N stay"}),),
    ),
}


def run(argv: Sequence[str]) -> int:
    """Do the command that *argv* begins with."""
    name, *rest = argv
    function, text, arguments = COMMANDS[name]
    parser = CommandLine(prog=f"tfrun {name}", description=text, allow_abbrev=False)
    for flags, options in arguments:
        parser.add_argument(*flags, **options)
    return function(parser.parse_args(rest))
