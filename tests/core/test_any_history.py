"""Whatever happens, in whatever order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import servers, workers
from tfmesos.config.job import Job
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase

from .histories import any_event, histories
from .run import Run, started


@settings(max_examples=400)
@given(histories, st.booleans(), st.sampled_from([0, 1]))
def test_whatever_happens_in_whatever_order_a_run_can_always_be_ended(history, bare, gpus):
    run = Run(workers(2, gpus=gpus), Job("ps", 2) if bare else servers(2), start_timeout=100.0)
    for event, pause in history:
        run(event)
        run.now += pause
    run(happened.StopRequested("stop", 130))
    run.wait(30)
    assert run.state.phase is Phase.FINISHED and run.outcome is not None
    assert not any(started(run(event)) for event, _ in history)


@settings(max_examples=200)
@given(histories, st.sampled_from([0, 1]))
def test_a_run_that_has_not_started_never_waits_longer_than_its_start_timeout(history, gpus):
    run = Run(workers(2, gpus=gpus), servers(2), start_timeout=100.0)
    for event, pause in history:
        run(event)
        run.wait(pause)
    run.wait(100 + 30)
    assert run.state.phase is not Phase.STARTING


@settings(max_examples=200)
@given(st.lists(any_event, max_size=60))
def test_a_deadline_that_was_served_is_not_due_again_at_once(history):
    run = Run(workers(2), servers(2))
    for event in history:
        run(event)
        for _ in range(20):
            if (due := run.deciders.deadline) is None or due > run.now:
                break
            run(happened.Ticked())
        else:
            pytest.fail("the clock would spin")
        run.now += 1.0
