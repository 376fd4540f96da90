"""What commands write: answers to standard output, messages to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from itertools import groupby, islice
from shutil import get_terminal_size
from typing import Any

from ...errors import TFMesosError
from ...launcher.screen.standard_streams import EX_IOERR, NOBODY_READS, Screen, unwritten
from ...runs.following import Shown
from ...runs.recorder import SAID
from ...sanitize import fit, plain_all, tidy

ENDLESS = (1_000_000, 24)  # of a terminal that does not tell its size
AT_ONCE = 1000  # lines in one write, at most

screen = Screen.of_this_process()


class Unwritten(TFMesosError):
    exit_code = EX_IOERR


def out(text: str) -> None:
    try:
        screen.out(text)
    except BrokenPipeError:
        sys.exit(NOBODY_READS)
    except OSError as error:
        raise Unwritten(unwritten(error)[0]) from None


def out_json(value: Any) -> None:
    out(f"{json.dumps(value, indent=2)}\n")


def say(text: str) -> None:
    screen.err(f"tfrun: {plain_all(text)}\n")


def lines(texts: Iterable[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def narrow(line: str) -> str:
    """Cut a row to the width of the terminal, because a wrapped row breaks the columns."""
    return fit(line, get_terminal_size(ENDLESS).columns) if screen.terminal_out else line


def _is_output(line: Shown, is_alone: bool) -> bool:
    """Messages of the launcher go to standard error, unless only they were requested."""
    name, logged = line
    return logged.stream == "stdout" or (is_alone and name == SAID)


def show(
    output: Iterable[Shown], since: float, *, is_alone: bool = False, times: bool = False
) -> None:
    """Lines of tasks, each with the name of its task unless that *is alone*."""
    clean = tidy if screen.terminal_out else str
    kept = (one for one in output if one[1].at >= since or not one[1].at)
    while together := list(islice(kept, AT_ONCE)):
        for is_out, group in groupby(together, lambda one: _is_output(one, is_alone)):
            text = lines(
                ("" if not times else f"{line.when} ")
                + ("" if is_alone else f"[{name}] ")
                + clean(line.text)
                for name, line in group
            )
            out(text) if is_out else screen.err(text)
