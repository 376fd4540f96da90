"""The list of all runs. Runs that are over are read once."""

from __future__ import annotations

import time

from ...json_types import Json
from ..live_status import LiveStatus
from ..run_directories import Store
from ..run_files import RunDirectory
from ..takeover.lost_runs import is_final
from .views import row


class RunList:
    """Used by one thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._over: dict[str, Json] = {}
        self._live: dict[str, LiveStatus] = {}

    def rows(self) -> list[Json]:
        """The newest first."""
        runs = self._store.all()
        there = {run.id for run in runs}
        self._over = {key: row for key, row in self._over.items() if key in there}
        self._live = {key: progress for key, progress in self._live.items() if key in there}
        return [self._row(run) for run in runs]

    def _row(self, run: RunDirectory) -> Json:
        if run.id in self._over:
            return self._over[run.id]
        if not is_final(run):
            progress = self._live.setdefault(run.id, LiveStatus(run))
            return row(run, progress.look().phase, time.time())
        self._live.pop(run.id, None)
        self._over[run.id] = row(run, "", time.time())
        return self._over[run.id]
