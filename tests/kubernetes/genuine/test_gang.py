"""All pods of a run or none: runs that do not fit together never block each other."""

from __future__ import annotations

import itertools
import re
from contextlib import ExitStack

import pytest

from tests.commands import finish, running_tfrun

from .pods import on_kubernetes

pytestmark = pytest.mark.rig("its nodes are of known sizes and names")

HOLD = ("--gang-hold", 5)
TWO_THIRDS = ("-w", 2, "-Cw", 1.5, "-Mw", 64)  # one such task fills a node


def test_runs_of_two_thirds_of_the_cluster_come_one_after_the_other(kube):
    script = "import time; print('from', time.time()); time.sleep(1); print('to', time.time())"
    command = (*on_kubernetes(*TWO_THIRDS, *HOLD), "--", "python3", "-c", script)
    with ExitStack() as stack:
        runs = [stack.enter_context(running_tfrun(*command)) for _ in range(3)]
        ends = [finish(run) for run in runs]
    assert [run.returncode for run in runs] == [0, 0, 0], ends
    spans = sorted(span(out) for out, _ in ends)
    for (_, end), (begin, _) in itertools.pairwise(spans):
        assert end <= begin


def span(text):
    """From the first task's begin to the last one's end."""
    moments = [float(moment) for moment in re.findall(r"(?m)^\[\S+\] (?:from|to) (\S+)$", text)]
    assert len(moments) == 4, text
    return min(moments), max(moments)
