"""How long a run may take."""

from tests.builders import servers, workers
from tests.core.run import Run
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.errors import RunTimeout


def test_a_run_that_takes_longer_than_it_may_is_ended_and_says_so():
    run = Run(workers(1), servers(1), run_timeout=60.0).up()
    assert run.wait(59.9) == []
    assert len(only(do.StopRunner, run.wait(0.1))) == 2
    run.exit("worker:0", 143)
    run.exit("ps:0", 143)
    assert isinstance(run.outcome.error, RunTimeout) and run.outcome.exit_code == 124
    assert "60 s" in str(run.outcome.error)


def test_the_time_limit_counts_from_the_beginning():
    run = Run(workers(1), run_timeout=60.0)
    run(happened.EngineReady())
    run.wait(60)
    assert run.outcome.exit_code == 124


def test_a_run_that_is_stopping_when_its_time_is_over_keeps_its_outcome():
    run = Run(workers(2), run_timeout=60.0).up()
    run.wait(59)
    run.exit("worker:0", 7)
    run.wait(2)
    run.exit("worker:1", 143)
    assert run.outcome.exit_code == 7
