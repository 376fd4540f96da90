"""The live table of another launcher's run, from its record, below the output of its tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from itertools import groupby, islice

from ...json_types import Json
from ...launcher.screen.console import STALLED, Console
from ...launcher.screen.live_area import Live, StatusLine
from ...launcher.screen.rows import TaskView, job_rows, task_rows
from ...launcher.screen.standard_streams import Screen
from ...launcher.screen.table import Table
from ...launcher.screen.terminal_signals import watch_terminal
from ...launcher.view import MOST_TASKS
from ...runs.following import LOOK_EVERY, Output, Shown
from ...runs.live_status import LiveStatus
from ...runs.measurements import latest, usage_in
from ...runs.run_files import RunDirectory
from ...runs.status import RunStatus, TaskStatus

MEASURE_EVERY = 2.0  # seconds between two looks at what the tasks use
AT_ONCE = 1000  # lines


def show_live(run: RunDirectory, since: float, screen: Screen) -> None:
    """Show the lines *since* then, and the state of the tasks, until the run is over."""
    console = Console(screen)
    try:
        asyncio.run(_follow(run, since, console))
    finally:
        console.close(STALLED)


async def _follow(run: RunDirectory, since: float, console: Console) -> None:
    watch_terminal(asyncio.get_running_loop(), console)
    output, tasks, is_over = Output(run, None), _LiveTasks(run), False
    while not is_over:
        is_over = run.is_over  # before the last look
        await _write(output.read(), since, console)
        console.show(None if is_over else tasks.look(time.time()))
        await asyncio.sleep(0 if is_over else LOOK_EVERY)


async def _write(lines: Iterable[Shown], since: float, console: Console) -> None:
    kept = (one for one in lines if one[1].at >= since or not one[1].at)
    while together := list(islice(kept, AT_ONCE)):
        for (name, stream), group in groupby(together, lambda one: (one[0], one[1].stream)):
            text = "".join(f"{line.text}\n" for _, line in group)
            await console.output(name, stream, text, 0)


class _LiveTasks:
    def __init__(self, run: RunDirectory) -> None:
        self._run = run
        self._progress = LiveStatus(run)
        self._usages: dict[str, Json] = {}
        self._measured = 0.0

    def look(self, now: float) -> Live | None:
        status = self._progress.look()
        if now >= self._measured + MEASURE_EVERY:
            self._usages = latest(self._run.measurements_file)
            self._measured = now
        return live_of(status, self._views(status), now - self._run.began)

    def _views(self, status: RunStatus) -> list[TaskView]:
        lines = self._progress.bar_lines()
        return [
            view_of(task, self._usages.get(task.name), lines.get(task.name, ""))
            for task in status.tasks.values()
        ]


def live_of(status: RunStatus, tasks: list[TaskView], now: float) -> Live | None:
    """The table once a task is running; before that, what the run is waiting for."""
    if not any(task.is_running for task in tasks):
        return StatusLine(status.why) if status.why else None
    rows = task_rows(tasks, now) if len(tasks) <= MOST_TASKS else []
    why = "" if status.is_waiting else status.why
    return Table(tuple(rows), tuple(job_rows(tasks, now)), why)


def view_of(task: TaskStatus, usage: Json | None, line: str) -> TaskView:
    return TaskView(
        task.name,
        task.job,
        task.state,
        task.node,
        task.began,
        task.ended,
        task.restarts,
        task.reason if task.code else "",
        usage_in(usage) if usage else None,
        line,
    )
