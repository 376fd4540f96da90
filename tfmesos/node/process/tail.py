"""Keeps the last lines that a command wrote."""

from __future__ import annotations

from ...shared import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque

TAIL_LINES = 20
TAIL_CHARACTERS = 16 * 1024


class Tail:
    """The last lines of the output, for the report of a failure."""

    def __init__(self) -> None:
        self._lines: deque[str] = stdlib.deque(maxlen=TAIL_LINES)

    def add(self, text: str) -> None:
        """Lines, each with its end."""
        if text:
            self._lines.extend(text[:-1].rsplit("\n", TAIL_LINES)[-TAIL_LINES:])

    def lines(self) -> list[str]:
        room, chosen = TAIL_CHARACTERS, []
        for line in reversed(self._lines):
            if len(line) > room:
                break
            room -= len(line)
            chosen.append(line)
        if self._lines and not chosen:
            chosen = [self._lines[-1][-TAIL_CHARACTERS:]]
        return chosen[::-1]
