"""What a run shows of itself, and how often."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from tests.bounds import HANG
from tests.builders import workers
from tests.core.run import Run
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.launcher.links.usage import Usage
from tfmesos.launcher.observer import Observer
from tfmesos.launcher.screen.live_area import StatusLine
from tfmesos.launcher.screen.table import Table
from tfmesos.launcher.view import CLOCK_EVERY, DRAW_EVERY, View, progress_every

USAGE = Usage(50.0, 2**20)


class Screen:
    """The part of a console that shows what is live; it remembers what and when."""

    def __init__(self, is_live=True):
        self.is_live, self.shown = is_live, []

    def show(self, live):
        self.shown.append((asyncio.get_running_loop().time(), live))


class Noting(Observer):
    wants_progress = True


class Measured(Observer):
    def __init__(self):
        self.usages, self.bars = [], []

    def progressed(self, task, line):
        self.bars.append((task, line))

    def measured(self, task, usage):
        self.usages.append((task, usage))


def a_view(screen, number=2, observer=None, **more):
    config = LaunchConfig((workers(number),), **more)
    return View(config, screen, observer or Observer())


async def drawn(view, run, times=1, news=lambda: None):
    """Let it draw so many times, if it does, with *news* all the time."""
    shown = view._console.shown
    enough = len(shown) + times
    task = asyncio.create_task(view.draw_on(run.state, str))
    async with asyncio.timeout(HANG):
        while len(shown) < enough and not task.done():
            news()
            await asyncio.sleep(0.001)
    task.cancel()


def gaps(screen):
    times = [at for at, _ in screen.shown]
    return [later - earlier for earlier, later in pairwise(times)]


def test_however_much_happens_it_is_drawn_ten_times_a_second_at_most():
    screen, run = Screen(), Run(workers(2)).up()
    view = a_view(screen)
    number = iter(range(10**9))
    asyncio.run(drawn(view, run, 4, lambda: view.progressed("id", str(next(number)))))
    assert min(gaps(screen)) >= DRAW_EVERY - 0.005


def test_if_nothing_happens_it_is_drawn_once_a_second_for_its_clock():
    screen, run = Screen(), Run(workers(2)).up()
    asyncio.run(drawn(a_view(screen), run, 2))
    assert min(gaps(screen)) >= CLOCK_EVERY - 0.1


def test_the_table_comes_when_the_tasks_run_and_a_line_before():
    screen, run = Screen(), Run(workers(2))
    asyncio.run(drawn(a_view(screen), run))
    assert isinstance(screen.shown[-1][1], StatusLine)
    run.up()
    asyncio.run(drawn(a_view(screen), run))
    assert isinstance(screen.shown[-1][1], Table)


def test_a_chief_in_this_terminal_has_it_for_itself():
    screen, run = Screen(), Run(workers(2)).up()
    view = a_view(screen, local_chief=True)
    asyncio.run(drawn(view, run))
    assert screen.shown[-1][1] is None
    assert progress_every(LaunchConfig((workers(2),), local_chief=True), screen, Observer()) == 0


def test_where_nothing_can_be_live_nothing_is_drawn_or_kept():
    screen, run, observer = Screen(is_live=False), Run(workers(2)).up(), Measured()
    view = a_view(screen, observer=observer)
    view.names = {"id": "worker:0"}
    view.measured("id", USAGE)
    view.progressed("id", "1/2")
    asyncio.run(drawn(view, run))
    assert screen.shown == [] and view._usages == view._progress == {}
    assert observer.usages == [("worker:0", USAGE)] and observer.bars == [("worker:0", "1/2")]


def test_what_was_seen_of_attempts_that_are_over_is_forgotten():
    screen, run = Screen(), Run(workers(2)).up()
    view = a_view(screen)
    ids = [member.task_id for member in run.state.members]
    for task_id in [*ids, *(f"old-{number}" for number in range(100))]:
        view.measured(task_id, USAGE)
        view.progressed(task_id, "x" * 1000)
    asyncio.run(drawn(view, run))
    assert sorted(view._usages) == sorted(view._progress) == sorted(ids)
    assert {len(line) for line in view._progress.values()} == {300}


@pytest.mark.parametrize(("tasks", "seconds"), [(1, 0.1), (20, 0.1), (100, 0.5), (1000, 5.0)])
def test_many_tasks_tell_of_their_progress_less_often(tasks, seconds):
    config = LaunchConfig((workers(tasks),))
    assert progress_every(config, Screen(), Observer()) == pytest.approx(seconds)
    hidden = Screen(is_live=False)
    assert progress_every(config, hidden, Observer()) == 0
    assert progress_every(config, hidden, Noting()) == pytest.approx(max(1.0, seconds))


def test_a_fault_in_what_is_shown_shows_nothing_and_ends_nothing(monkeypatch):
    screen, run = Screen(), Run(workers(2)).up()
    monkeypatch.setattr("tfmesos.launcher.screen.rows.task_rows", lambda *_: 1 / 0)
    asyncio.run(drawn(a_view(screen), run))
    assert screen.shown[-1][1] is None
