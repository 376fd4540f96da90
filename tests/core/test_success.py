"""When a run has succeeded."""

from tests.builders import servers, workers
from tests.core.run import Run
from tests.replay import only
from tests.sentences import names
from tfmesos.config.job import Job
from tfmesos.config.task_choice import TaskChoice
from tfmesos.core import actions as do
from tfmesos.core.success import MIN_LIFE


def test_the_run_succeeds_when_all_workers_have_and_the_ps_is_stopped():
    run = Run(workers(2), servers(1)).up()
    run.now = 60.0
    assert run.exit("worker:0") == []
    (stop,) = run.exit("worker:1")
    assert stop.task_id == run.id("ps:0")
    run.exit("ps:0", 143)
    assert run.outcome.ok and run.outcome.exit_code == 0


def test_without_any_ps_the_run_ends_with_its_workers():
    run = Run(workers(1), servers(0)).up()
    run.exit("worker:0")
    assert run.outcome.ok


def test_a_job_that_skips_indices_can_finish():
    run = Run(workers(3, start=1)).up()
    run.exit("worker:1")
    run.exit("worker:2")
    assert run.outcome.ok


def test_a_ps_that_has_hardly_begun_gets_a_moment():
    run = Run(workers(1), servers(1)).up()
    assert run.exit("worker:0") == []
    assert len(only(do.StopRunner, run.wait(MIN_LIFE))) == 1


def test_the_chief_decides_where_there_is_one():
    run = Run(Job("chief", 1, cmd="x"), workers(2)).up()
    run.now = 60.0
    assert len(only(do.StopRunner, run.exit("chief:0"))) == 2


def test_it_is_the_type_of_a_task_that_decides_and_not_the_name_of_its_job():
    run = Run(Job("boss", 1, cmd="x", task_type="chief"), workers(2)).up()
    run.now = 60.0
    assert len(only(do.StopRunner, run.exit("boss:0"))) == 2


def test_jobs_of_other_names_must_all_finish():
    run = Run(Job("a", 1, cmd="x"), Job("b", 1, cmd="x")).up()
    assert run.exit("a:0") == []
    run.exit("b:0")
    assert run.outcome.ok


def test_the_tasks_that_were_chosen_decide():
    jobs = (workers(3), servers(1))
    tasks = [task for job in jobs for task in job.tasks]
    run = Run(*jobs, success=TaskChoice.parse("success", "worker:0", tasks)).up()
    run.now = 60.0
    assert run.exit("worker:1") == []
    assert len(only(do.StopRunner, run.exit("worker:0"))) == 2


def with_evaluator(**rules):
    run = Run(workers(2), Job("evaluator", 1, cmd="x"), servers(1), **rules).up()
    run.now = 60.0
    run.exit("worker:0")
    return run


def test_the_run_ends_after_its_evaluator():
    run = with_evaluator()
    (said,) = run.exit("worker:1")
    assert names(said.text, "60 s", "evaluator:0") and said.level == "notice"
    assert run.wait(59) == []
    (stop,) = run.exit("evaluator:0")
    assert stop.task_id == run.id("ps:0")
    run.exit("ps:0", 143)
    assert run.outcome.ok


def test_an_evaluator_that_takes_too_long_is_stopped_and_that_is_said():
    run = with_evaluator(evaluator_grace=5.0)
    run.exit("worker:1")
    said, *stops = run.wait(5)
    assert names(said.text, "evaluator:0", "5 s", "stopping it") and said.level == "warning"
    assert {stop.task_id for stop in stops} == {run.id("evaluator:0"), run.id("ps:0")}
    run.exit("ps:0", 143), run.exit("evaluator:0", 143)
    assert run.outcome.ok


def test_an_evaluator_without_a_grace_is_not_waited_for():
    run = with_evaluator(evaluator_grace=0.0)
    assert len(only(do.StopRunner, run.exit("worker:1"))) == 2


def test_an_evaluator_that_fails_at_last_fails_the_run():
    run = with_evaluator()
    run.exit("worker:1")
    run.exit("evaluator:0", 3)
    run.exit("ps:0", 143)
    assert run.outcome.exit_code == 3


def test_an_evaluator_that_has_ended_before_is_not_waited_for():
    run = with_evaluator()
    run.exit("evaluator:0")
    assert len(only(do.StopRunner, run.exit("worker:1"))) == 1
