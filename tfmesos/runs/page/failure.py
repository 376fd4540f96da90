"""The report of a failed run, taken apart for the page: what explains the failure comes first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from ...json_types import Json

_OUTPUT, _NOTE = "    ", "  "  # how the report indents lines of a task, and lines of its own
_HINT = "hint: "
_OUTPUT_TITLE = "its last lines:"
_NAMED_ERROR = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Interrupt|Exit)(: |$)")
_ANY_NAME = re.compile(r"[A-Za-z_][\w.]*(: |$)")


def report_parts(lines: Sequence[str]) -> Json:
    """The parts of *lines*: headline, exception, hint, notes, and the last output of the task."""
    output = [line.removeprefix(_OUTPUT) for line in lines[1:] if line.startswith(_OUTPUT)]
    rest = [line.removeprefix(_NOTE) for line in lines[1:] if not line.startswith(_OUTPUT)]
    hints = [line.removeprefix(_HINT) for line in rest if line.startswith(_HINT)]
    notes = [line for line in rest if not line.startswith(_HINT) and line != _OUTPUT_TITLE]
    return {
        "headline": lines[0] if lines else "",
        "exception": exception_in(output),
        "hint": " ".join(hints),
        "notes": notes,
        "output": output,
    }


def exception_in(output: Sequence[str]) -> str:
    """The line that names the last exception, or nothing.

    It ends a traceback, whose lines are indented; other tasks or streams may have written between.
    """
    found = ""
    for before, line in pairwise(["", *output]):
        ends_traceback = before.startswith("  ") and _ANY_NAME.match(line)
        if ends_traceback or _NAMED_ERROR.match(line):
            found = line
    return found
