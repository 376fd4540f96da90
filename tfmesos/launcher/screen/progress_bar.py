"""Parses the progress bar of a task: its fraction and its text. No I/O."""

from __future__ import annotations

import re

from ...record import Record
from ...sanitize import plain

# tqdm: "Epoch 1:  45%|████▌     | 45/100 [00:10<00:12,  4.50it/s]"
# Keras: " 45/100 ━━━━━━━━━━━━━━━━━━━━ 3s 12ms/step - loss: 0.30"
# and before: "45/100 [=====>....] - ETA: 3s"
_PERCENT_OF_BAR = re.compile(r"(\d{1,3})%\|")
_OF = re.compile(r"(\d{1,12})\s*/\s*(\d{1,12})")
_PERCENT = re.compile(r"(\d{1,3})(?:\.\d+)?\s?%")
_BARS = re.compile(r"\|[^|\[\]]*\||\[?[█▏▎▍▌▋▊▉#=>.\-━─╸╺]{4,}\s*\]?")
MOST_BAR = 10  # columns
_FULL, _EMPTY = "━", "─"


class ProgressBar(Record):
    part: float | None  # from 0 to 1, if that is known
    words: str

    def text(self, width: int) -> str:
        """The bar in about *width* columns; words come first if there is little room."""
        cells = min(MOST_BAR, width // 3)
        if self.part is None or cells < 3:
            return self.words
        full = int(self.part * cells)
        return f"{_FULL * full}{_EMPTY * (cells - full)} {self.words}"


def progress_bar(line: str) -> ProgressBar | None:
    """The progress bar in *line*, which its task has rewritten."""
    text = plain(line)
    words = " ".join(_BARS.sub(" ", text).split())
    return ProgressBar(_part(text), words) if words else None


def _part(text: str) -> float | None:
    if found := _PERCENT_OF_BAR.search(text):
        return min(int(found[1]) / 100, 1.0)
    if (found := _OF.search(text)) and 0 < int(found[2]) >= int(found[1]):
        return int(found[1]) / int(found[2])
    if found := _PERCENT.search(text):
        return min(int(found[1]) / 100, 1.0)
    return None
