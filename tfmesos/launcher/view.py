"""What a run shows: the output of its tasks, their table, and everything to its observer.

What the table says is decided in ``rows`` and ``table``; this looks when it is due.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..config.launch_config import LaunchConfig
from ..core.events import Event
from ..core.lifecycle import Lifecycle
from ..core.phases import Phase
from ..core.tasks import Stage, Tasks
from .links.collected_files import Brought
from .links.exchange import Sinks
from .links.usage import Usage
from .observer import Counted, Observer
from .past import CannotTakeOver
from .screen.console import Console
from .screen.live_area import Live, StatusLine

log = logging.getLogger(__name__)

DRAW_EVERY = 0.1  # seconds between two versions of the table, at least
CLOCK_EVERY = 1.0  # seconds between two, at most, while times pass
MOST_TASKS = 100  # more than most terminals have rows for
NOTE_EVERY = 1.0  # seconds between two looks at a progress bar that only the observer sees
PROGRESS_OF_ALL = 0.005  # seconds, of the tasks together, between two looks at a progress bar
LONGEST = 300  # characters of one


def progress_every(config: LaunchConfig, console: Console, observer: Observer) -> float:
    """Seconds between reports of a task's progress bar; many tasks report less often. 0: none."""
    if console.is_live and not config.local_chief:
        return max(DRAW_EVERY, PROGRESS_OF_ALL * config.size)
    return max(NOTE_EVERY, PROGRESS_OF_ALL * config.size) if observer.wants_progress else 0.0


class View:
    def __init__(self, config: LaunchConfig, console: Console, observer: Observer) -> None:
        self._console = console
        self._observer = observer
        self.names: dict[str, str] = {}  # task id -> name, of all that were launched
        self.shown = {task.name for task in config.tasks if task in config.logs}
        self._has_table = not config.local_chief  # which has the terminal for itself
        self._usages: dict[str, Usage] = {}
        self._progress: dict[str, str] = {}
        self._news = asyncio.Event()

    def change(self, config: LaunchConfig) -> None:
        """The next generation has these tasks."""
        self.shown |= {task.name for task in config.tasks if task in config.logs}

    def sinks(
        self, emit: Callable[[Event], None], brought: Brought, give_away: Callable[[str], object]
    ) -> Sinks:
        """The callbacks for what runners report."""
        return Sinks(
            emit=emit,
            say=self._console.say,
            counted=self.counted,
            superseded=lambda holder: give_away(f"{holder} holds the run now"),
            lacks_past=lambda task_id: give_away(str(CannotTakeOver.for_want_of(task_id))),
            output=self.output,
            measured=self.measured,
            progressed=self.progressed,
            collected=brought,
        )

    async def output(
        self, task_id: str, stream: str, text: str, dropped: int, number: int = 0
    ) -> None:
        name = self.names.get(task_id, task_id)
        counted = Counted(task_id, number) if number else None
        self._observer.written(name, stream, text, dropped, counted)
        if name in self.shown:
            await self._console.output(name, stream, text, dropped)

    def counted(self, task_id: str, number: int, is_last: bool) -> None:
        self._observer.counted(Counted(task_id, number, is_last))

    def measured(self, task_id: str, usage: Usage) -> None:
        self._observer.measured(self.names.get(task_id, task_id), usage)
        if self._console.is_live:
            self._usages[task_id] = usage
            self._news.set()

    def progressed(self, task_id: str, line: str) -> None:
        self._observer.progressed(self.names.get(task_id, task_id), line[:LONGEST])
        if self._console.is_live:
            self._progress[task_id] = line[:LONGEST]
            self._news.set()

    def changed(self) -> None:
        """Something has happened."""
        self._news.set()

    async def draw_on(self, lifecycle: Lifecycle, shipping: Callable[[], str]) -> None:
        """Keep the live area up to date."""
        clock = asyncio.get_running_loop().time
        while self._console.is_live:
            self._news.clear()
            self._forget(lifecycle.members)
            self._console.show(self._live_or_nothing(lifecycle, shipping(), clock()))
            await asyncio.sleep(DRAW_EVERY)
            try:
                async with asyncio.timeout(CLOCK_EVERY - DRAW_EVERY):
                    await self._news.wait()
            except TimeoutError:
                pass  # a second has passed

    def _live_or_nothing(self, lifecycle: Lifecycle, shipping: str, now: float) -> Live | None:
        try:
            return self._live(lifecycle, shipping, now)
        except Exception as error:  # our own bug, which must not end a training
            log.debug("nothing is shown: %r", error)
            return None

    def _live(self, lifecycle: Lifecycle, shipping: str, now: float) -> Live | None:
        status, members = shipping or lifecycle.summary(), lifecycle.members
        is_running = lifecycle.phase > Phase.STARTING and members.any_at(Stage.READY)
        if self._has_table and is_running:
            return self._table(members, status, now)
        return StatusLine(status) if status else None

    def _table(self, members: Tasks, status: str, now: float) -> Live:
        from .screen.rows import Looks, job_rows, task_rows, view_of  # not before the tasks run
        from .screen.table import Table

        looks = Looks(self._usages, self._progress)
        views = [view_of(member, looks) for member in members]
        rows = task_rows(views, now) if len(members) <= MOST_TASKS else ()
        return Table(tuple(rows), tuple(job_rows(views, now)), status)

    def _forget(self, members: Tasks) -> None:
        """Forget what was known about attempts that are over, once there are many."""
        for seen in (self._usages, self._progress):
            if len(seen) > 2 * len(members):
                for task_id in seen.keys() - {member.task_id for member in members}:
                    del seen[task_id]
