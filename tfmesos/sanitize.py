"""What may reach a terminal from text that others wrote."""

from __future__ import annotations

import re
import unicodedata

_RESET = "\x1b[0m"
_CONTROLS = re.compile(
    r"(\x1b\[[0-9;:]*m)"  # colours, which may stay
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # all else that moves a cursor, clears the screen, ...
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links, clipboards: up to their end, if any
    r"|\x1b.?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]",
    re.DOTALL,
)


# Marks that turn the direction of what follows them.
_DIRECTIONS = dict.fromkeys(
    [0x200E, 0x200F, 0x061C, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
)


def tidy(line: str) -> str:
    """One harmless line: a progress bar shows its last state, and colours end with the line."""
    if line.isprintable():
        return line
    shown = _CONTROLS.sub(lambda found: found[1] or "", line.rstrip("\r").rpartition("\r")[2])
    return shown + _RESET if "\x1b" in shown else shown


def plain(line: str) -> str:
    """One line with our words after those of others, which cannot change how it looks."""
    if line.isprintable():
        return line
    return _CONTROLS.sub("", line).translate(_DIRECTIONS)


def plain_all(text: str, indent: str = "  ") -> str:
    """Our text with words of others in it, whose lines cannot be mistaken for ours."""
    return f"\n{indent}".join(map(plain, text.splitlines()))


def fit(line: str, width: int) -> str:
    """As much of a plain line as fits into *width* columns of a terminal."""
    if line.isascii():
        return line[:width]
    for end, character in enumerate(line):
        width -= _columns(character)
        if width < 0:
            return line[:end]
    return line


def columns_of(line: str) -> int:
    """How many columns of a terminal a plain line takes."""
    return len(line) if line.isascii() else sum(map(_columns, line))


def cell(text: str, width: int, *, right: bool = False) -> str:
    """A plain line in exactly *width* columns, its end cut off if it is too long."""
    text = text.replace("\t", " ")
    if columns_of(text) > width:
        text = fit(text, max(width - 1, 0)) + "…"
        text = fit(text, width)
    blanks = " " * (width - columns_of(text))
    return blanks + text if right else text + blanks


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Me", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
