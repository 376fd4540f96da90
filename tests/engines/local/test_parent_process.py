"""The warm parent comes up while the launcher is still being imported, if its run needs one."""

from __future__ import annotations

import psutil
import pytest

from tests.builders import workers
from tfmesos.engines.local.fork_channel import MAX_MESSAGE, packed
from tfmesos.engines.local.parent_process import parent_process, started_ahead
from tfmesos.inputs.merging import make_config


@pytest.fixture
def children():
    """Those of this process that the test has started; an engine that other tests share is none."""

    def living():
        return {process.pid for process in psutil.Process().children()}

    before = living()
    return lambda: sorted(living() - before)


def test_a_run_takes_the_parent_that_was_started_ahead(children):
    with started_ahead(make_config(workers(2))):
        (ahead,) = children()
        taken = parent_process()
        assert children() == [ahead]
    taken.channel.send(packed("reap", 1))  # no child of it: it fails, and ends
    assert not taken.channel.recv(MAX_MESSAGE)
    taken.kill()
    taken.channel.close()


def test_a_parent_that_no_run_takes_ends_with_its_head_start(children):
    with started_ahead(make_config(workers(2))):
        assert len(children()) == 1
    assert children() == []


@pytest.mark.parametrize("settings", [{"image": "me/train"}, {"python": "/usr/bin/python3"}])
def test_a_run_whose_runners_are_not_of_our_python_needs_none(children, settings):
    with started_ahead(make_config(workers(2), **settings)):
        assert children() == []


def test_without_a_head_start_a_run_starts_one_itself(children):
    parent = parent_process()
    assert len(children()) == 1
    parent.kill()
    parent.channel.close()
    assert children() == []
