"""Arguments that several commands take, and how their values are read."""

from __future__ import annotations

import argparse
from typing import Any

from ...config.units import TIME, seconds

Argument = tuple[tuple[str, ...], dict[str, Any]]  # what argparse is given


def number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number of 0 or more, got {text!r}")
    return int(text)


def port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to 65535, got {text!r}")
    return int(text)


def time(text: str) -> float:
    found = seconds(text)
    if found is None or found < 0:
        raise argparse.ArgumentTypeError(f"must be {TIME}, got {text!r}")
    return found


def time_above_zero(text: str) -> float:
    if not (found := time(text)):
        raise argparse.ArgumentTypeError(f"must be above 0, got {text!r}")
    return found


def switch(*flags: str, help: str, **more: Any) -> Argument:
    return flags, {"action": "store_true", "help": help, **more}


_ID_HELP = "id of the run; its first letters are enough"
THE_RUN: Argument = (("id",), {"metavar": "ID", "help": _ID_HELP})
LATEST: Argument = (
    ("id",),
    {
        "nargs": "?",
        "metavar": "ID",
        "help": f"{_ID_HELP} (default: the only active run, or else the latest)",
    },
)
LIVING: Argument = (
    ("id",),
    {"nargs": "?", "metavar": "ID", "help": f"{_ID_HELP} (default: the only active run)"},
)
TASK_HELP = "name of the task, such as worker:0"
THE_TASK: Argument = (("task",), {"metavar": "TASK", "help": TASK_HELP})
JSON = switch("--json", help="print JSON, for programs")
NO_WAIT = switch("--no-wait", help="return immediately")
NO_BROWSER = (
    ("--no-browser",),
    {
        "dest": "browser",
        "action": "store_false",
        "help": "print the link and do not start a browser",
    },
)
