"""``tfrun completion``."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from ...errors import TFMesosError
from ...inputs.profile import profile_names
from ...runs.status import state_of
from ..completion import Candidate, candidates, shown, split
from ..completion_scripts import SCRIPTS
from .answer import out
from .choice import store, tasks_of, the_run
from .common_arguments import Argument

HELP = "print a script that completes flags, runs and tasks in your shell"
ARGUMENTS: tuple[Argument, ...] = (
    (("shell",), {"nargs": "?", "metavar": "SHELL", "help": "bash, zsh or fish"}),
    (("words",), {"nargs": argparse.REMAINDER, "help": argparse.SUPPRESS}),  # asked by the script
)
MOST_RUNS = 50


class UnknownShell(TFMesosError):
    exit_code = 2


def run(args: argparse.Namespace) -> int:
    if args.shell not in SCRIPTS:
        given = "" if args.shell is None else f", got {args.shell!r}"
        raise UnknownShell(f"completion needs the name of a shell: bash, zsh or fish{given}")
    if not args.words:
        out(SCRIPTS[args.shell])
        return 0
    breaks = ""
    words = args.words
    if args.shell == "bash":
        line, breaks = (*args.words, "")[:2]
        words = split(line)
    if words:
        out(shown(candidates(words, _OnThisMachine()), args.shell, words[-1], breaks))
    return 0


class _OnThisMachine:
    """Offer nothing if something cannot be read: pressing Tab must not print an error."""

    def runs(self) -> Iterator[Candidate]:
        try:
            found = store().all()[:MOST_RUNS]
        except (TFMesosError, OSError):
            return
        yield from (Candidate(one.id, f"{state_of(one)}: {one.shown_command}") for one in found)

    def tasks(self, run_id: str) -> Iterator[Candidate]:
        try:
            found = the_run(run_id)
        except (TFMesosError, OSError):
            return
        yield from map(Candidate, tasks_of(found))

    def profiles(self) -> Iterator[Candidate]:
        try:
            names = profile_names(os.environ)
        except (TFMesosError, OSError):
            return
        yield from map(Candidate, names)
