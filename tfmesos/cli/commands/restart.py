"""``tfrun restart``, and what ``tfrun replace`` shares with it."""

from __future__ import annotations

import argparse

from ...runs.control import ask
from ...runs.live_status import LiveStatus
from ...runs.status import TaskStatus
from .answer import say
from .choice import task_of, the_run, until
from .common_arguments import NO_WAIT, THE_RUN, THE_TASK, Argument

HELP = "stop a task and start it again on its node, and wait until it runs"
ARGUMENTS: tuple[Argument, ...] = (THE_RUN, THE_TASK, NO_WAIT)


def run(args: argparse.Namespace) -> int:
    return start_again(args, elsewhere=False)


def start_again(args: argparse.Namespace, *, elsewhere: bool) -> int:
    found = the_run(args.id)
    name = task_of(found, args.task)
    progress = LiveStatus(found)
    before = _task(progress, name).restarts
    ask(found, "restart", task=name, elsewhere=elsewhere)
    say(f"{found.id}: {name} is being started again{' on another node' if elsewhere else ''}")
    if args.no_wait:
        return 0
    until(lambda: found.is_over or _is_back(_task(progress, name), before))
    task = _task(progress, name)
    if not _is_back(task, before):
        say(f"{found.id} ended before {name} ran again")
        return 1
    say(f"{found.id}: {name} is running again on {task.node}")
    return 0


def _task(progress: LiveStatus, name: str) -> TaskStatus:
    return progress.look().tasks.get(name) or TaskStatus(name, "")


def _is_back(task: TaskStatus, restarts: int) -> bool:
    """Has it started since then? It may even have ended already."""
    return task.restarts > restarts and task.began is not None
