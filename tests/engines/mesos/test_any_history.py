"""Whatever Mesos says, in whatever order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.engines.mesos import actions as calls

from .histories import any_event
from .run import Run


@settings(max_examples=400)
@given(
    st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=60),
    st.booleans(),
    st.sampled_from(["never", "task", "all"]),
)
def test_whatever_happens_in_whatever_order_a_run_can_always_be_ended(history, bare, policy):
    rules = {"start_timeout": 100.0, "restarts": RestartPolicy(after_start=policy)}
    run = Run(workers(2), Job("ps", 2) if bare else servers(2), **rules)
    for event, pause in history:
        run(event)
        run.now += pause
    run(happened.StopRequested("stop", 130))
    run.wait(30)
    assert run.state.phase is Phase.FINISHED and run.outcome is not None
    assert not any(only(calls.Launch, run(event)) for event, _ in history)


@settings(max_examples=200)
@given(st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=60))
def test_a_run_that_has_not_started_never_waits_longer_than_its_start_timeout(history):
    run = Run(workers(2), servers(2), start_timeout=100.0)
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
