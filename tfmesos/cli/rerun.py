"""``tfrun rerun ID [flags]``: the command line of an earlier run, with changes."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..command_line import Answer
from ..errors import CannotRead, SpecError, TFMesosError
from ..inputs.job_file import STANDARD_INPUT
from ..jobfiles import ENDINGS
from ..runs.run_directories import Store, runs_root
from ..runs.run_files import RunDirectory
from .arguments import parse

HELP = """\
usage: tfrun rerun ID [flags] [-- command]

Start the run ID again, in its directory. Flags and a command that are given here replace those
of the run ID; --detach is not inherited.
"""
_OF_ONE_CALL = ("--detach",)  # how tfrun was called, not what was run


class CannotRerun(TFMesosError):
    exit_code = SpecError.exit_code


def rerun_arguments(argv: Sequence[str]) -> list[str]:
    """The arguments of ``tfrun`` for another run like that one; changes to its directory."""
    if argv and argv[0] in ("-h", "--help"):
        raise Answer(HELP)
    if not argv or argv[0].startswith("-"):
        raise CannotRerun("rerun needs the id of a run: tfrun rerun ID [flags]")
    run = Store(runs_root(os.environ)).find(argv[0])
    found = joined(_arguments_of(run), argv[1:])
    try:
        os.chdir(run.about["cwd"])
    except OSError as error:
        raise CannotRead(f"the directory of run {run.id} is gone: {error.filename}") from None
    return found


def _arguments_of(run: RunDirectory) -> list[str]:
    words = run.about.get("arguments")
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise CannotRerun(f"run {run.id} was started by a Python program: start that program again")
    return words


def joined(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The command line *old* with the flags *new*, which win; a new command replaces the old."""
    flags, command = _split(old)
    changes, other = _split(new)
    kept = [word for word in flags if word not in _OF_ONE_CALL]
    whole = [*kept, *changes, "--", *(other or command)]
    _check_kept(whole)
    return whole


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The flags, and the command behind them."""
    if not argv:
        return [], []
    command = parse(argv).cmd
    flags = list(argv[: len(argv) - len(command)])
    if flags[-1:] == ["--"]:
        flags.pop()
    return (["--job-file", *flags] if flags and flags[0].endswith(ENDINGS) else flags), command


def _check_kept(argv: Sequence[str]) -> None:
    """What is missing from the record cannot be reused."""
    args = parse(argv)
    if args.job_file == STANDARD_INPUT:
        raise CannotRerun("its job file came from standard input and is not kept: give --job-file")
    if "://***@" in (args.master or ""):
        raise CannotRerun(
            "the address of its master has a password, which is not kept: give -m/--master again"
        )
