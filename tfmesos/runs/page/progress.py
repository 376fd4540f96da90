"""Where a run stands, read on from where the last look ended."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...json_types import Json
from ..directory import RunDirectory
from ..status import Reader, RunStatus, settled


class Progress:
    def __init__(self, run: RunDirectory) -> None:
        self.run = run
        self._reader = Reader()
        self._offset = 0

    def look(self) -> RunStatus:
        """Take in what has been written since the last look."""
        is_over = self.run.is_over  # before the last look
        status = self._reader.read(self._new_entries())
        return settled(status, self.run.outcome) if is_over else status

    @property
    def history(self) -> dict[str, list[tuple[float, str]]]:
        """By task: its states, and since when it was in each."""
        return self._reader.history

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
