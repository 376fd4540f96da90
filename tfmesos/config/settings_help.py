"""The table of settings as text, for ``help(cluster)``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from .settings import SETTINGS

WIDTH = 96
TITLE = "Settings"


def settings_help() -> str:
    """Each with its type, its default and what it is for."""
    return "\n".join([f"{TITLE}; None means not given:", "", *_entries()])


def _entries() -> Iterator[str]:
    for setting in SETTINGS:
        default = f" (default: {setting.default_text})" if setting.default_text else ""
        yield f"    {setting.field}: {setting.type}{default}"
        indent = " " * 8
        yield textwrap.fill(setting.help, WIDTH, initial_indent=indent, subsequent_indent=indent)
