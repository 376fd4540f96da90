"""Every case has a bound in seconds: so long after the blow it must have ended, and rightly.

``@pytest.mark.bound(seconds)`` declares it, the fixture ``bound`` enforces it, processes that
are left behind included, and the summary of the test run (tests/conftest.py) prints it.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.bounds import HANG
from tests.conftest import describe, is_alive, living_children


class Bound:
    """The time a case has, from ``struck`` on: more in proportion on a busy machine.

    How busy it is, is looked at whenever the time is asked for: the load of the last minute tells
    little of a machine on which others have just begun.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._factor = 1.0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        self._factor = max(self._factor, busy())
        return round(self._seconds * self._factor)

    def struck(self) -> None:
        """The blow falls now."""
        self._began = time.monotonic()

    @property
    def took(self) -> float:
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """To wait for. Whether it took too long is told afterwards, by how busy it was then."""
        return max(0.0, HANG - self.took)


def busy() -> float:
    """How many processes want each CPU: on average of the last minute, and right now."""
    wanting = os.getloadavg()[0]
    if sys.platform == "linux":
        now = Path("/proc/loadavg").read_text().split()[3].partition("/")[0]
        wanting = max(wanting, int(now))
    return wanting / (os.cpu_count() or 1)


@pytest.fixture(autouse=True)
def bound(request, nothing_is_left_behind):
    bound = Bound(request.node.get_closest_marker("bound").args[0])
    before = set(living_children())
    yield bound
    mine = [process for process in living_children() if process not in before]
    _, late = psutil.wait_procs(mine, timeout=bound.left)
    late = [describe(process) for process in late if is_alive(process)]
    took = bound.took
    request.node.user_properties.append(("bound", (took, bound.seconds)))
    assert not late, f"still there after {bound.seconds:g} s"
    assert took <= bound.seconds, f"it took {took:.1f} s"


def pytest_configure(config):
    config.addinivalue_line("markers", "bound(seconds): after the blow, on an idle machine")


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/chaos/" in item.nodeid:
            assert item.get_closest_marker("bound"), f"{item.nodeid} declares no bound"
