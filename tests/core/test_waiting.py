"""What a run says it is waiting for, and how long it does."""

from tests.builders import workers
from tests.replay import only
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.waiting import FIRST_NOTICE, NOTICE_EVERY, REPEAT_AFTER
from tfmesos.engines.local import events as local

from .restart_policies import said
from .run import HOST, Run, ended


def test_a_wait_says_what_it_is_for():
    run = Run(workers(2, gpus=1))
    notices = only(do.Say, run.wait(FIRST_NOTICE))
    run.place()
    run(local.GpusHeld(1, ("run 7 of alice",)))
    notices += only(do.Say, run.wait(10))
    run(local.GpusTaken(("0", "1")))
    notices += only(do.Say, run.wait(10))
    assert {one.level for one in notices} == {"notice"}
    cluster, gpus, report = [one.text for one in notices]
    assert "waiting for the cluster" in cluster
    assert "0 of 2 tasks placed" in gpus and "run 7 of alice" in gpus
    assert names(report, f"worker:0 on {HOST}", f"worker:1 on {HOST}", "report")


def test_the_same_words_are_repeated_seldom_and_new_ones_come_after_a_few_seconds():
    run = Run(workers(1, gpus=1))
    run.place()
    assert len(said(run.wait(FIRST_NOTICE + NOTICE_EVERY))) == 1
    run(happened.Waiting(0, "all GPUs are in use"))
    (text,) = said(run.wait(NOTICE_EVERY))
    assert "all GPUs are in use" in text
    run = Run(workers(1, gpus=1))
    run.place()
    assert len(said(run.wait(FIRST_NOTICE + REPEAT_AFTER))) == 2


def test_tasks_that_do_not_report_are_named():
    run = Run(workers(2))
    run.place()
    run.register("worker:1")
    (text,) = said(run.wait(FIRST_NOTICE))
    assert f"worker:0 on {HOST}" in text and "worker:1" not in text


def test_the_start_timeout_reports_what_was_missing():
    run = Run(workers(1, gpus=1), start_timeout=5.0)
    run.place()
    run(local.GpusHeld(0, ("run 7 of alice",)))
    run.wait(5)
    assert run.outcome.exit_code == 75
    text = str(run.outcome.error)
    assert "after 5 s" in text and "0 of 1 task placed" in text and "run 7 of alice" in text


def test_the_start_timeout_tells_why_the_engine_is_not_ready():
    run = Run(workers(1), start_timeout=5.0)
    trouble = happened.EngineTrouble("no cluster yet: 503 Service Unavailable")
    assert run(trouble) == [do.Say(trouble.text, "notice")]
    run.wait(5)
    assert run.outcome.exit_code == 69
    assert "after 5 s" in str(run.outcome.error) and trouble.text in str(run.outcome.error)


def test_tasks_that_do_not_register_in_time_are_killed_and_named():
    run = Run(workers(2), start_timeout=5.0)
    run.place()
    assert len(ended(run.wait(5))) == 2
    run.gone("worker:0", was_killed=True)
    run.gone("worker:1", was_killed=True)
    assert run.outcome.exit_code == 124 and f"worker:0 on {HOST}" in str(run.outcome.error)
