"""The output of a run from its logs, as it was written, or as it is being written."""

from __future__ import annotations

import heapq
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from .log_lines import Line, parse
from .recorder import SAID
from .run_files import RunDirectory
from .task_log import LogReader

LOOK_EVERY = 0.2  # seconds

_PIECE = re.compile(r"(.+\.log)(?:\.\d+)?")

Files = dict[str, tuple[int, int]]  # the pieces of a log, each with its number and its size

Shown = tuple[str, Line]  # whose, and what


class Output:
    """The output of the tasks of a run, in the order in which it arrived."""

    def __init__(
        self,
        run: RunDirectory,
        tasks: Sequence[str] | None,
        keep: int | None = None,
        wanted: Callable[[bytes], bool] | None = None,
    ) -> None:
        """The output of these *tasks*; None: of all.

        With *keep* only about this many bytes from the end of all logs, with *wanted* only matching
        lines.
        """
        self._run = run
        self._tasks = tasks
        self._keep = keep
        self._wanted = wanted
        self._readers: dict[str, LogReader] = {}
        self._files: dict[str, Files] = {}  # as they were when they were read last

    def read(self) -> Iterator[Shown]:
        """What has arrived since the last call."""
        names = self._there() if self._tasks is None else self._tasks
        for name in names:
            if name not in self._readers:
                self._readers[name] = LogReader(self._run.log_file(name))
                if self._keep is not None:
                    self._readers[name].skip(self._keep // len(names))
        logs = (self._lines(name, self._readers[name]) for name in self._changed(names))
        for _, name, line in heapq.merge(*logs, key=lambda found: found[0]):
            yield name, line

    def _changed(self, names: Sequence[str]) -> list[str]:
        """The logs that have changed: most of a thousand logs have not."""
        there = _files(self._run.output)
        found = {name: there.get(self._run.log_file(name).name, {}) for name in names}
        changed = [name for name in names if found[name] != self._files.get(name)]
        self._files.update(found)
        return changed

    def _lines(self, name: str, reader: LogReader) -> Iterator[tuple[float, str, Line]]:
        at = 0.0
        for line in map(parse, filter(self._wanted, reader.lines())):
            at = max(at, line.at)
            yield at, name, line

    def _there(self) -> list[str]:
        return [name for name in self._run.logged() if name != SAID]

    def follow(self, sleep: Callable[[float], None] = time.sleep) -> Iterator[Iterator[Shown]]:
        """Look again and again, until the run is over."""
        is_over = False
        while not is_over:
            is_over = self._run.is_over  # before the last look
            yield self.read()
            if not is_over:
                sleep(LOOK_EVERY)


def _files(directory: Path) -> dict[str, Files]:
    """By the name of the log."""
    found: dict[str, Files] = {}
    with suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            if part := _PIECE.fullmatch(entry.name):
                with suppress(FileNotFoundError):
                    status = entry.stat()
                    found.setdefault(part[1], {})[entry.name] = (status.st_ino, status.st_size)
    return found
