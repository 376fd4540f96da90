"""What of a text that others wrote may reach a terminal."""

from __future__ import annotations

import re

_RESET = "\x1b[0m"
_CONTROLS = re.compile(
    r"(\x1b\[[0-9;:]*m)"  # colours, which may stay
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # all else that moves a cursor, clears the screen, ...
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # titles, links, clipboards: up to their end, if any
    r"|\x1b.?"
    r"|[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]",
    re.DOTALL,
)


def tidy(line: str) -> str:
    """One line without tricks: of a progress bar its last state, and colours end with it."""
    if line.isprintable():
        return line
    shown = _CONTROLS.sub(lambda found: found[1] or "", line.rstrip("\r").rpartition("\r")[2])
    return shown + _RESET if "\x1b" in shown else shown


def tidy_all(text: str, indent: str = "  ") -> str:
    """A text of ours with words of others in it; further lines cannot pass for lines of ours."""
    return f"\n{indent}".join(map(tidy, text.splitlines()))
