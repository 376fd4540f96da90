"""The state of a run, continued from the last look."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..json_types import Json
from ..launcher.screen.progress_bar import ProgressBar, progress_bar
from .progress_bar_file import ProgressReader
from .run_files import RunDirectory
from .status import Reader, RunStatus, settled
from .takeover.lost_runs import is_final


class LiveStatus:
    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self._reader = Reader()
        self._bars = ProgressReader(run.progress_file)
        self._offset = 0

    def look(self) -> RunStatus:
        """Take in what has been written since the last look."""
        is_over = is_final(self.run)  # before the last look
        status = self._reader.read(self._new_entries())
        return settled(status, self.run.outcome) if is_over else status

    @property
    def history(self) -> dict[str, list[tuple[float, str]]]:
        """By task: its states, and since when it was in each."""
        return self._reader.history

    def bar_lines(self) -> dict[str, str]:
        """By task, the line that it is rewriting; not that of an earlier attempt."""
        began = {name: task.began for name, task in self._reader.status.tasks.items()}
        return {
            name: line
            for name, (at, line) in self._bars.look().items()
            if at >= self.run.began + (began.get(name) or 0.0)
        }

    def bars(self) -> dict[str, ProgressBar]:
        """By task, its present progress bar."""
        lines = self.bar_lines().items()
        return {name: bar for name, line in lines if (bar := progress_bar(line))}

    def _new_entries(self) -> Iterator[Json]:
        try:
            with self.run.events_file.open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        return  # is being written
                    self._offset += len(line)
                    yield json.loads(line)
        except (FileNotFoundError, ValueError):
            return
