"""The output of a run for the page: its end, and what is added."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ...json_types import Json
from ...sanitize import plain
from ..following import Output, Shown
from ..run_files import RunDirectory

MOST_LINES = 2000  # that a page shows
LONGEST_LINE = 4000  # characters
READ_BACK = 1024 * 1024  # bytes from the end of the logs
SEARCHED = 64 * 1024 * 1024  # bytes from the end of the logs in which a text is searched for


class OutputView:
    """The output of *task*, or of all tasks if it is empty; only lines with *find*, if given."""

    def __init__(self, run: RunDirectory, task: str | None, find: str) -> None:
        self.is_left = False  # nobody wants the rest
        keep, wanted = (SEARCHED, self._containing(find)) if find else (READ_BACK, None)
        self._output = Output(run, [task] if task else None, keep, wanted)

    def _containing(self, find: str) -> Callable[[bytes], bool]:
        folded = find.casefold()

        def wanted(line: bytes) -> bool:
            if self.is_left:
                raise ConnectionAbortedError
            said = line.split(b" ", 2)[-1]
            return folded in said.decode("utf-8", "replace").casefold()

        return wanted

    def look(self) -> Json | None:
        """The latest lines, and how many more there were before them."""
        kept: deque[Shown] = deque(maxlen=MOST_LINES)
        number = 0
        for shown in self._output.read():
            kept.append(shown)
            number += 1
        if not number:
            return None
        return {"lines": [_line(one) for one in kept], "left_out": number - len(kept)}


def _line(shown: Shown) -> list[Any]:
    name, line = shown
    text = plain(line.text)
    if len(text) > LONGEST_LINE:
        text = f"{text[:LONGEST_LINE]} ({len(text) - LONGEST_LINE} characters left out)"
    return [line.at, name, line.stream, text]
