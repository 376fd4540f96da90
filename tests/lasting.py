"""The processes that outlive a test on purpose, with all they start: a session shares them."""

from __future__ import annotations

import psutil

PIDS: set[int] = set()


def lasts(process: psutil.Process) -> bool:
    if not PIDS:
        return False
    try:
        return bool(PIDS & {process.pid, *(parent.pid for parent in process.parents())})
    except psutil.NoSuchProcess:
        return True  # it is no more
