"""Which run a command acts on, and the state of that run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from ...errors import TFMesosError
from ...runs.following import LOOK_EVERY
from ...runs.run_directories import NoSuchRun, Store, runs_root
from ...runs.run_files import RunDirectory
from ...runs.status import status_now
from ...runs.takeover.lost_runs import lost_words
from ...sanitize import plain
from ...text import join_names
from .answer import lines, say, screen

UNKNOWN_END = 69  # EX_UNAVAILABLE


class NoSuchTask(TFMesosError):
    exit_code = 2


def store() -> Store:
    return Store(runs_root(os.environ))


def the_run(prefix: str) -> RunDirectory:
    return store().find(prefix)


def living_run(prefix: str | None) -> RunDirectory:
    """The run whose id begins so; without one, the only active run, which is named."""
    if prefix is not None:
        return the_run(prefix)
    living = [run for run in store().all() if not run.is_over]
    if len(living) != 1:
        ids = join_names([run.id for run in living])
        problem = f"several runs are alive: {ids}" if living else "no run is alive"
        raise NoSuchRun(f"{problem}; give the ID of the run (see tfrun list)")
    say(f"run {living[0].id}")
    return living[0]


def living_or_latest(prefix: str | None) -> RunDirectory:
    """The run whose id begins so; without one, the only active run or else the latest one."""
    if prefix is not None:
        return the_run(prefix)
    runs = store().all()
    living = [run for run in runs if not run.is_over]
    if not runs:
        return store().find(None)  # which says that there is none
    chosen = living[0] if len(living) == 1 else runs[0]
    say(f"run {chosen.id}")
    return chosen


def tasks_of(run: RunDirectory) -> list[str]:
    """The tasks of the record; until the record begins, the tasks that the run was started with."""
    return list(status_now(run).tasks) or [
        f"{job}:{number}" for job, count in run.jobs.items() for number in range(count)
    ]


def task_of(run: RunDirectory, name: str) -> str:
    there = tasks_of(run)
    if name not in [*there, *run.logged()]:
        raise NoSuchTask(f"run {run.id} has no task {name!r}: it has {join_names(there, 8)}")
    return name


def task_and_rest(words: Sequence[str]) -> tuple[str | None, str, list[str]]:
    """The id of the run, if given, the name of the task, and the remaining words."""
    given = list(words)
    prefix = given.pop(0) if given and ":" not in given[0] else None
    if not given or ":" not in given[0]:
        raise NoSuchTask("name a task of the run, such as worker:0")
    name = given.pop(0)
    return prefix, name, given[1:] if given[:1] == ["--"] else given


def until(condition: Callable[[], bool], within: float | None = None) -> bool:
    """Wait until the condition holds; False if it does not within that many seconds."""
    end = None if within is None else time.monotonic() + within
    while not condition():
        if end is not None and time.monotonic() >= end:
            return False
        time.sleep(LOOK_EVERY)
    return True


def end_of(run: RunDirectory) -> int:
    """Say how it ended, and return its exit code."""
    outcome = run.outcome
    if outcome is None:
        what = f": {lost_words(run)}" if run.is_lost else ""
        say(f"it is not known how {run.id} ended{what}")
        return UNKNOWN_END
    screen.err(lines(plain(line) for line in outcome.get("report", [])))
    say_what_is_missing(run)
    return int(outcome.get("exit_code", UNKNOWN_END))


def say_what_is_missing(run: RunDirectory) -> None:
    if missing := run.missing:
        say(f"{run.id}: {missing}")
