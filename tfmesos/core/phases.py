"""The phases of a run, in their order."""

from __future__ import annotations

from enum import IntEnum


class Phase(IntEnum):
    STARTING = 1  # until every task has registered
    RUNNING = 2
    RESTARTING = 3  # all tasks are stopped, to be started again
    STOPPING = 4
    STAYING = 5  # only tasks that stay until somebody ends them are left
    FINISHED = 6
