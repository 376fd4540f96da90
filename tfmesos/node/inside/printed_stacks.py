"""Stacks that a Python process prints itself, at a signal that its program has registered.

After ``faulthandler.register(signal.SIGRTMAX)`` it prints them to standard error, so they are read
from the output of the task. The process continues. The signal is sent only to processes that catch
it, because it would kill others.
"""

from __future__ import annotations

import os
import re

from ...shared import process
from ...shared.stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..loop import Loop, Timer
    from ..process.output import Output

NUMBER: int = getattr(signal, "SIGRTMAX", 0)  # which is of no use to anybody else
FIRST_LINE_TIME = 1.0  # seconds
STILL_TIME = 0.2  # seconds without a line, after which all have come: nothing says so
LONGEST = 1024 * 1024  # bytes
_THREAD = re.compile(
    r"(?P<is_current>Current t|T)hread 0x[0-9a-f]+(?: \[(?P<name>.*)\])? \(most recent call first\)"
)
_FRAME = re.compile(r'  File "(?P<path>.*)", line (?P<line>[0-9]{1,9}) in (?P<name>.*)')


def can_print(pid: int) -> bool:
    """Does it catch the signal, and can it handle it now?"""
    if not NUMBER or process.is_stopped(pid):
        return False
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            caught = next((line.split()[1] for line in file if line.startswith("SigCgt:")), "0")
    except OSError:
        return False
    return bool(int(caught, 16) >> (NUMBER - 1) & 1)


class PrintedStacks:
    """Makes *pid* print, and calls *done* when ``text`` is complete."""

    def __init__(self, loop: Loop, output: Output, pid: int, done: Callable[[], object]) -> None:
        self._loop = loop
        self._output = output
        self._done = done
        self._printed = bytearray()
        self._timer: Timer = loop.after(FIRST_LINE_TIME, self._end)
        output.listeners.append(self._hear)
        try:
            os.kill(pid, NUMBER)
        except OSError:
            pass  # it has just ended, and will print nothing

    def _hear(self, data: bytes) -> None:
        self._printed += data[: LONGEST - len(self._printed)]
        if b" (most recent call first)" in self._printed:
            self._timer.cancel()
            self._timer = self._loop.after(STILL_TIME, self._end)

    def _end(self) -> None:
        self.cancel()
        self._done()

    @property
    def text(self) -> str:
        return self._printed.decode("utf-8", "backslashreplace")

    def cancel(self) -> None:
        self._timer.cancel()
        if self._hear in self._output.listeners:
            self._output.listeners.remove(self._hear)


def threads(text: str) -> list[Any]:
    """In py-spy's format; other output is ignored."""
    found: list[Any] = []
    for line in text.split("\n"):
        if match := _THREAD.match(line):
            is_main = bool(match["is_current"] != "T")  # it is the one that gets signals
            thread = {"thread_name": match["name"], "os_thread_id": int(is_main), "pid": 1}
            found.append({**thread, "frames": []})
        elif found and (match := _FRAME.match(line)):
            path = match["path"]
            packages, _, module = path.rpartition("-packages/")
            short = module if packages else os.path.basename(path)
            place = {"filename": path, "short_filename": short, "line": int(match["line"])}
            found[-1]["frames"].append({"name": match["name"], **place})
    return found
