"""Which runs are kept, and for how long."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from .run_directories import Store
from .run_files import KEYS, RunDirectory
from .takeover.lost_runs import adoptable_until

KEEP = 200  # runs
AT_ONCE = 20  # that many are removed together: to look for the oldest takes a while
KEEP_FOR = 90 * 86400.0  # seconds


def prune(store: Store, now: float, keep: int | None = None) -> list[str]:
    """Remove ended runs that are neither recent nor among the last ones; returns their ids."""
    gone = _too_many(store.all(), now, KEEP if keep is None else keep)
    for run in gone:
        remove(run)
    return [run.id for run in gone]


def remove(run: RunDirectory) -> None:
    shutil.rmtree(run.path, ignore_errors=True)


def prune_when_due(store: Store, now: float) -> None:
    """Does not read each record unless one has to be removed."""
    entries = list(os.scandir(store.root))
    _remove_stale_keys(entries)
    if len(entries) >= KEEP + AT_ONCE or any(
        now - one.stat().st_mtime > KEEP_FOR for one in entries
    ):
        prune(store, now)


def _remove_stale_keys(entries: Sequence[os.DirEntry[str]]) -> None:
    """Removes the keys of launchers that were killed just after they had recorded the end."""
    for entry in entries:
        if os.path.exists(f"{entry.path}/{KEYS}"):
            run = RunDirectory(Path(entry.path))
            if run.outcome_file.exists():
                run.keys_file.unlink(missing_ok=True)


def _too_many(runs: Sequence[RunDirectory], now: float, keep: int) -> list[RunDirectory]:
    """*runs* are sorted, the newest first.

    Runs of other machines stay, because nothing is known about them.
    """
    old = [run for n, run in enumerate(runs) if n >= keep or now - run.began > KEEP_FOR]
    return [run for run in old if run.is_over and adoptable_until(run) is None]
