"""How a runner has ended tells whether anything of its task may be left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tfmesos.engines.local.processes import ended_by_itself
from tfmesos.errors import NODE_REFUSED, RUNNER_BROKEN


def end_with(code):
    """A process that has ended so and is not reaped."""
    program = f"import os; os.kill(os.getpid(), {-code}) if {code} < 0 else os._exit({code})"
    started = subprocess.Popen([sys.executable, "-I", "-S", "-c", program])
    os.waitid(os.P_PID, started.pid, os.WEXITED | os.WNOWAIT)
    return started


@pytest.mark.parametrize("code", [0, 1, 137, 143])
def test_a_runner_that_ended_with_the_code_of_its_command_leaves_nothing(code):
    with end_with(code) as started:
        assert ended_by_itself(started.pid)


@pytest.mark.parametrize("code", [-signal.SIGKILL, -signal.SIGSEGV, RUNNER_BROKEN, NODE_REFUSED])
def test_a_runner_that_was_killed_or_has_failed_may_leave_something(code):
    with end_with(code) as started:
        assert not ended_by_itself(started.pid)


def test_of_one_that_is_reaped_or_runs_nobody_knows():
    with end_with(0) as started:
        pass
    assert not ended_by_itself(started.pid)
    assert not ended_by_itself(os.getpid())
