"""News that comes at an unusual moment changes nothing that has been decided."""

from tests.builders import workers
from tests.core.run import Run
from tests.replay import only
from tfmesos.config.job import Job
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.endings import UNREACHABLE_GRACE
from tfmesos.core.lifecycle import Phase


def test_a_run_that_stops_is_not_started_by_a_cluster_that_is_found_then():
    job = Job("chief", 1, cmd="x")
    run = Run(job, local=(job.tasks[0], "chief-id", "127.0.0.1:4000"))
    run(happened.StopRequested("interrupted", 130))
    todo = run.place()
    assert only(do.Start, todo) == []
    assert run.state.phase in (Phase.STOPPING, Phase.FINISHED)


def test_a_task_that_registers_though_out_of_reach_of_the_cluster_goes_on():
    run = Run(workers(1))
    run.place()
    run(happened.TaskUnreachable(run.id("worker:0")))
    run.register()
    run.ready()
    run.wait(2 * UNREACHABLE_GRACE)
    assert run.outcome is None and run.state.phase is Phase.RUNNING


def test_a_stop_by_its_owner_does_not_shorten_one_that_is_under_way():
    run = Run(workers(2)).up()
    run.exit("worker:0", 7)
    assert run(happened.StopRequested("stopped by its owner", 0)) == []
    assert run.outcome is None
    run.exit("worker:1", 143)
    assert run.outcome.exit_code == 7 and run.outcome.unstopped == ()
