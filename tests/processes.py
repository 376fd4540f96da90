"""Processes, looked at while they come and go."""

from __future__ import annotations

from contextlib import suppress

import psutil


def commands_below(pid: int, *, recursive: bool = True) -> list[tuple[psutil.Process, list[str]]]:
    """The processes below *pid*, or its children only, with their command lines.

    A launcher has children for a moment, such as git: one that has ended since it was listed, or
    that is a zombie, has no command line and is left out.
    """
    found = []
    for process in psutil.Process(pid).children(recursive):
        with suppress(psutil.Error):
            found.append((process, process.cmdline()))
    return found
