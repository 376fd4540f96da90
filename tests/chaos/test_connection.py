"""The connection between runner and launcher is cut, half open or slow."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from tests.commands import finish, read_until, running_tfrun
from tests.ports import free_port
from tests.runners import Proxy

from .stage import background, runners_through

LINES = 3000
COUNTS = (
    "import os, sys, time\n"
    "for i in range({lines}):\n"
    "    print('%05d' % i, 'x' * 60, flush=True)\n"
    "    while i == {half} and not os.path.exists({go!r}): time.sleep(0.01)\n"
)


class Line:
    """A proxy between the runner and the launcher of a run, and the word for its task to go on."""

    def __init__(self, here, proxy, go):
        self._here, self._proxy, self._go = here, proxy, go

    def cut(self, **how):
        self._here.do(lambda: self._proxy.cut(**how))

    def mend(self):
        self._here.do(self._proxy.mend)

    def freeze(self):
        self._here.do(self._proxy.freeze)

    def slow_down(self, pause):
        self._proxy.pause = pause

    def release(self):
        self._go.touch()


@contextmanager
def counting_run(tmp_path):
    """A task behind a proxy that counts, waits half way, and counts on."""
    go = tmp_path / "go"
    code = COUNTS.format(lines=LINES, half=LINES // 2, go=str(go))
    with background() as here:
        port = free_port()
        proxy = here.enter(Proxy(("127.0.0.1", port)).running())
        python = runners_through(tmp_path, proxy.address)
        flags = ("--advertise", f"127.0.0.1:{port}", "--python", python, "-w", 1)
        with running_tfrun(*flags, "--", sys.executable, "-c", code) as run:
            seen = read_until(run.stdout, f"{LINES // 2:05d} ")
            yield run, seen, Line(here, proxy, go)


def assert_whole(run, seen, bound):
    out, err = finish(run, bound.left)
    assert run.returncode == 0, err
    assert [line.split()[1] for line in seen + out.splitlines()] == [
        f"{i:05d}" for i in range(LINES)
    ]


@pytest.mark.bound(20)
def test_a_connection_that_is_cut_is_made_again_and_no_line_is_lost(tmp_path, bound):
    with counting_run(tmp_path) as (run, seen, line):
        bound.struck()
        line.cut(for_good=True)
        line.release()
        line.mend()
        assert_whole(run, seen, bound)


@pytest.mark.bound(60)
def test_a_connection_that_is_half_open_is_noticed_and_no_line_is_lost(tmp_path, bound):
    """Nothing arrives any more and nobody is told; the runner's patience is 20 s."""
    with counting_run(tmp_path) as (run, seen, line):
        bound.struck()
        line.freeze()
        line.release()
        assert_whole(run, seen, bound)


@pytest.mark.bound(30)
def test_a_slow_connection_costs_time_and_no_line(tmp_path, bound):
    with counting_run(tmp_path) as (run, seen, line):
        bound.struck()
        line.slow_down(0.01)  # 100 kB in a second
        line.release()
        assert_whole(run, seen, bound)


@pytest.mark.bound(20)
def test_a_connection_that_is_cut_for_good_ends_the_task_and_the_run(tmp_path, bound):
    with counting_run(tmp_path) as (run, _seen, line):
        bound.struck()
        line.cut(for_good=True)
        _, err = finish(run, bound.left)
    assert run.returncode == 1
    assert "tfrun: worker:0 lost touch with the launcher" in err, err
