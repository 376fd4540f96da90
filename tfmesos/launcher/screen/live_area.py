"""The last lines on a terminal, which are rewritten in place while other lines scroll above them.

The cursor rests on the line below. So whatever is typed, or a shell writes after us, begins on its
own line, and nothing has to be restored if we are killed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from typing import Protocol

from ...record import Record
from ...sanitize import columns_of, fit, plain

log = logging.getLogger(__name__)


class Live(Protocol):
    def lines(self, columns: int, rows: int, colour: bool = False) -> list[str]: ...


class StatusLine(Record):
    text: str

    def lines(self, columns: int, rows: int, colour: bool = False) -> list[str]:
        return [fit(plain(self.text), columns - 1)]


def terminal_size() -> tuple[int, int]:
    """Columns and rows of the terminal of standard error."""
    try:
        return os.get_terminal_size(2)
    except OSError:
        return 80, 24


def is_in_foreground() -> bool:
    """In the background the terminal belongs to the shell."""
    try:
        return os.tcgetpgrp(2) == os.getpgrp()
    except OSError:
        return True  # of no session: nobody else writes there


def rewrite(old: Sequence[str], new: Sequence[str], columns: int) -> str:
    """The text that replaces the lines *old* by *new* on a terminal with this many columns.

    If it had more columns before, long lines have been wrapped. Each line is cleared before it is
    written: tmux remembers the length of a line that is cleared after its text, and wraps it
    although the text would fit.
    """
    height = sum(max(1, -(-columns_of(plain(line)) // max(columns, 1))) for line in old)
    up = f"\r\x1b[{height}A" if height else "\r"
    body = "".join(f"\x1b[2K{line}\n" for line in new)
    if not body.isascii():  # a terminal may show it wider than we know: it shall cut, not wrap
        body = f"\x1b[?7l{body}\x1b[?7h"
    return f"{up}{body}\x1b[J"


class LiveArea:
    def __init__(
        self,
        write: Callable[[str], None],
        colour: bool,
        size: Callable[[], tuple[int, int]] = terminal_size,
        may_draw: Callable[[], bool] = is_in_foreground,
    ) -> None:
        self._write = write
        self._colour = colour
        self._size = size
        self._may_draw = may_draw
        self._drawn: list[str] = []
        self._made: tuple[Live, tuple[int, int], list[str]] | None = None  # what was made last

    def draw(self, live: Live | None) -> None:
        """Show *live* in place of the present lines."""
        size = self._size()
        new = self._lines(live, size) if live is not None and self._may_draw() else []
        if new != self._drawn:
            self._write(rewrite(self._drawn, new, size[0]))
            self._drawn = new

    def _lines(self, live: Live, size: tuple[int, int]) -> list[str]:
        """Computed once, however often output is written in between."""
        if self._made is None or self._made[0] is not live or self._made[1] != size:
            try:
                lines = live.lines(*size, self._colour)
            except Exception as error:  # our own bug, which must not end a training
                log.debug("nothing is shown: %r", error)
                lines = []
            self._made = live, size, lines
        return self._made[2]
