"""The commands of ``tfrun`` that look at runs and control them: ``tfrun list`` and so on."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, islice
from shutil import get_terminal_size
from typing import Any

from ..command_line import CommandLine
from ..config.units import TIME, seconds
from ..errors import TFMesosError
from ..launcher.screen.standard_streams import EX_IOERR, NOBODY_READS, Screen, unwritten
from ..runs.control import ask
from ..runs.directory import RunDirectory
from ..runs.following import LOOK_EVERY, Output, Shown
from ..runs.listing import as_json, list_of, status_of
from ..runs.prune import KEEP, prune
from ..runs.recorder import SAID
from ..runs.store import Store, place
from ..sanitize import fit, plain, plain_all, tidy
from ..text import count, some

UNKNOWN_END = 69  # EX_UNAVAILABLE
ENDLESS = (1_000_000, 24)  # of a terminal that does not tell its size
AT_ONCE = 1000  # lines in one write, at most

_screen = Screen.of_this_process()


def _out(text: str) -> None:
    try:
        _screen.out(text)
    except BrokenPipeError:
        sys.exit(NOBODY_READS)
    except OSError as error:
        raise Unwritten(unwritten(error)[0]) from None


def _say(text: str) -> None:
    _screen.err(f"tfrun: {plain_all(text)}\n")


class Unwritten(TFMesosError):
    exit_code = EX_IOERR


def _store() -> Store:
    return Store(place(os.environ))


def _list(args: argparse.Namespace) -> int:
    runs = _store().all()
    if runs:
        _out(_lines(_narrow(line) for line in list_of(runs, time.time())))
    else:
        _say("there is no run yet")
    return 0


def _narrow(line: str) -> str:
    """What a terminal has no room for is left out; it would tear the columns."""
    return fit(line, get_terminal_size(ENDLESS).columns) if _screen.terminal_out else line


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _status(args: argparse.Namespace) -> int:
    run, now = _store().find(args.id), time.time()
    if args.json:
        _out(f"{json.dumps(as_json(run, now), indent=2)}\n")
    else:
        _out(_lines(status_of(run, now, _narrow)))
    return 0


def _logs(args: argparse.Namespace) -> int:
    if args.id and (":" in args.id or args.id == SAID) and not args.task:
        args.id, args.task = None, args.id
    run = _store().find(args.id)
    output = Output(run, [_task(run, args.task)] if args.task else None)
    since = 0.0 if args.since is None else time.time() - args.since
    for lines in output.follow() if args.follow else [output.read()]:
        _show(lines, since, is_alone=bool(args.task))
    return 0


def _task(run: RunDirectory, name: str) -> str:
    there = [f"{job}:{n}" for job, number in run.jobs.items() for n in range(number)]
    if name not in [*there, *run.logged()]:
        raise NoSuchTask(f"run {run.id} has no task {name!r}: it has {some(there, 8)}")
    return name


class NoSuchTask(TFMesosError):
    exit_code = 2


def _show(output: Iterable[Shown], since: float, *, is_alone: bool = False) -> None:
    clean = tidy if _screen.terminal_out else str
    kept = (one for one in output if one[1].at >= since or not one[1].at)
    while lines := list(islice(kept, AT_ONCE)):
        for is_out, together in groupby(lines, lambda one: one[1].stream == "stdout"):
            before = "" if is_alone else "[{}] "
            text = _lines(f"{before.format(name)}{clean(line.text)}" for name, line in together)
            _out(text) if is_out else _screen.err(text)


def _attach(args: argparse.Namespace) -> int:
    run, since = _store().find(args.id), time.time()
    try:
        if not run.is_over:
            _say(f"attached to {run.id}; Ctrl-C leaves it running")
            for lines in Output(run, None).follow():
                _show(lines, since)
    except KeyboardInterrupt:
        _say(f"detached: {run.id} goes on")
        return 0
    return _end_of(run)


def _wait(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    if run.launcher.is_alive is None:
        _say(f"the launcher of {run.id} is on another machine: waiting for its last word")
    _until_over(run)
    return _end_of(run)


def _until_over(run: RunDirectory) -> None:
    while not run.is_over:
        time.sleep(LOOK_EVERY)


def _end_of(run: RunDirectory) -> int:
    """Say how it ended, and return its exit code."""
    outcome = run.outcome
    if outcome is None:
        _say(f"how {run.id} ended is not known: its launcher died, or could not write it down")
        return UNKNOWN_END
    _screen.err(_lines(plain(line) for line in outcome.get("report", [])))
    return int(outcome.get("exit_code", UNKNOWN_END))


def _stop(args: argparse.Namespace) -> int:
    run = _store().find(args.id)
    ask(run, "stop", grace=args.stop_grace)
    _until_over(run)
    return 0


def _restart(args: argparse.Namespace, elsewhere: bool = False) -> int:
    run = _store().find(args.id)
    ask(run, "restart", task=_task(run, args.task), elsewhere=elsewhere)
    return 0


def _replace(args: argparse.Namespace) -> int:
    return _restart(args, elsewhere=True)


def _prune(args: argparse.Namespace) -> int:
    gone = prune(_store(), time.time(), keep=args.keep)
    _say(f"{count(len(gone), 'run')} removed")
    return 0


def _ui(args: argparse.Namespace) -> int:
    return _page(args, None, args.port)


def _open(args: argparse.Namespace) -> int:
    return _page(args, _store().find(args.id).id)


def _page(args: argparse.Namespace, run_id: str | None, port: int | None = None) -> int:
    from ..runs.page.opening import has_browser
    from ..runs.page.serving import Page, Unshown

    use_browser = args.browser and has_browser(os.environ)
    page = Page(_store().root, use_browser=use_browser, say=_say, show=_screen.out)
    try:
        return page.open(run_id, port)
    except Unshown as unshown:
        if isinstance(unshown.error, BrokenPipeError):
            return NOBODY_READS
        raise Unwritten(unwritten(unshown.error)[0]) from None


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a number from 0 on, got {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to 65535, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    found = seconds(text)
    if found is None or found < 0:
        raise argparse.ArgumentTypeError(f"must be {TIME}, got {text!r}")
    return found


def _grace(text: str) -> float:
    if not (found := _seconds(text)):
        raise argparse.ArgumentTypeError(f"must be above 0, got {text!r}")
    return found


_RUN = (("id",), {"nargs": "?", "metavar": "ID", "help": "of the run: its first letters will do"})
_THE_RUN = (("id",), {"metavar": "ID", "help": "of the run: its first letters will do"})

_TASK_HELP = "such as worker:0"
_THE_TASK = (("task",), {"metavar": "TASK", "help": _TASK_HELP})

_NO_BROWSER = (
    ("--no-browser",),
    {"dest": "browser", "action": "store_false", "help": "print the link, and start no browser"},
)

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
            (("task",), {"nargs": "?", "metavar": "TASK", "help": _TASK_HELP}),
            (("-f", "--follow"), {"action": "store_true", "help": "go on until the run ends"}),
            (("--since",), {"type": _seconds, "metavar": "TIME", "help": "what came in that time"}),
        ),
    ),
    "attach": (_attach, "show its output from now on; Ctrl-C leaves it running", (_RUN,)),
    "wait": (_wait, "wait for its end, and exit with its code", (_THE_RUN,)),
    "stop": (
        _stop,
        "end all its tasks, and wait until they have ended",
        (
            _THE_RUN,
            (
                ("--stop-grace",),
                {"type": _grace, "metavar": "TIME", "help": "until they are killed, such as 60s"},
            ),
        ),
    ),
    "restart": (_restart, "end a task and start it again at its place", (_THE_RUN, _THE_TASK)),
    "replace": (_replace, "end a task and start it again on another node", (_THE_RUN, _THE_TASK)),
    "ui": (
        _ui,
        "serve a page of all runs on this machine, until Ctrl-C, and open it in your browser",
        (
            (("--port",), {"type": _port, "metavar": "N", "help": "default: any that is free"}),
            _NO_BROWSER,
        ),
    ),
    "open": (_open, "the same, at the page of one run", (_RUN, _NO_BROWSER)),
    "prune": (
        _prune,
        "remove the records of old runs",
        (
            (
                ("--keep",),
                {"type": _number, "default": KEEP, "metavar": "N", "help": "the last N stay"},
            ),
        ),
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
