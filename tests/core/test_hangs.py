"""Tasks that run and say nothing: who is named and when, and how a hung run ends."""

from tests.builders import servers, workers
from tests.core.run import HOST, Run
from tests.replay import only
from tests.sentences import names
from tfmesos.config.job import Job
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.finished_peers import FinishedPeers
from tfmesos.core.hangs import NOTICE, TOGETHER, Hangs
from tfmesos.core.tasks import Tasks


def silent(run, name, seconds):
    return run(happened.TaskFellSilent(run.id(name), seconds))


def said(todo):
    return [action.text for action in only(do.Say, todo)]


def test_a_silent_task_is_named_after_five_minutes_and_then_ever_more_rarely():
    run = Run(workers(2)).up()
    silent(run, "worker:1", 60.0)
    words = []
    for minute in range(1, 60):
        words += [(minute, text) for text in said(run.wait(60))]
    assert [minute for minute, _ in words] == [5, 10, 20, 40]
    assert all(names(text, "worker:1", f"{minute} min", HOST) for minute, text in words)
    assert run.outcome is None


def test_those_that_fall_silent_together_share_a_line():
    run = Run(workers(3)).up()
    for name in ("worker:0", "worker:1", "worker:2"):
        silent(run, name, 60.0)
        run.wait(2)
    (text,) = said(run.wait(NOTICE))
    assert names(text, "worker:0, worker:1, worker:2", "5 min")


def test_a_task_that_speaks_again_is_not_named():
    run = Run(workers(1)).up()
    silent(run, "worker:0", 60.0)
    run.wait(100)
    silent(run, "worker:0", 0.0)
    assert run.wait(10 * NOTICE) == []


def test_a_ps_and_a_bare_server_may_be_silent_for_ever():
    run = Run(workers(1), servers(1), Job("storage", 1), hang_timeout=100.0).up()
    silent(run, "ps:0", 60.0)
    silent(run, "storage:0", 60.0)
    assert run.wait(10 * NOTICE) == []


def test_a_run_is_hung_when_all_that_it_waits_for_have_been_silent_too_long():
    run = Run(workers(3), servers(1), hang_timeout=100.0).up()
    run.exit("worker:2", 0)
    silent(run, "worker:0", 50.0)
    assert only(do.StopRunner, run.wait(60)) == []  # worker:1 speaks
    silent(run, "worker:1", 50.0)
    assert only(do.StopRunner, run.wait(49)) == []
    todo = run.wait(1)
    (text,) = said(todo)
    assert names(text, "worker:0, worker:1", "100 s", "they")
    assert {(stop.task_id, stop.examine) for stop in only(do.StopRunner, todo)} == {
        (run.id(name), True) for name in ("worker:0", "worker:1", "ps:0")
    }
    run.wait(60)
    assert run.outcome.exit_code == 124
    assert names(str(run.outcome.error), "no task", "100 s", "hung")


def test_a_task_that_is_started_again_begins_with_a_clean_slate():
    run = Run(workers(2), restarts=RestartPolicy(after_start="task")).up()
    silent(run, "worker:0", NOTICE - 1)
    run.exit("worker:0", 137)
    run.wait(1)
    run.register("worker:0")
    run.ready("worker:0")
    assert run.wait(TOGETHER + 1) == []


def test_one_task_that_is_silent_for_too_long_is_enough_if_that_is_wanted():
    run = Run(workers(3), servers(1), hang_timeout=100.0, hang_of_any=True).up()
    silent(run, "ps:0", 90.0)
    silent(run, "worker:1", 60.0)
    assert run.deciders.deadline == run.now + 40.0
    todo = run.wait(40)
    (text,) = said(todo)
    assert names(text, "worker:1", "100 s", "it is")
    assert all(stop.examine for stop in only(do.StopRunner, todo))
    for name in ("worker:0", "worker:1", "worker:2", "ps:0"):
        run.exit(name, 143)
    assert names(str(run.outcome.error), "worker:1", "100 s", "hung")


def test_silence_after_others_have_finished_is_explained_once():
    run = Run(workers(3), servers(1)).up()
    run.exit("worker:0")
    silent(run, "worker:1", 30.0)
    assert run.wait(60) == []
    silent(run, "worker:2", 30.0)
    (text,) = said(run(happened.Ticked()))
    assert names(text, "worker:0 (exited with 0)", "30 s", "worker:1, worker:2")
    assert said(run.wait(60)) == []
    run.exit("worker:1")
    assert said(run.wait(29)) == []
    (text,) = said(run.wait(1))
    assert names(text, "worker:0 (exited with 0), worker:1 (exited with 0)", "30 s", "worker:2")


def test_silence_is_no_matter_as_long_as_nobody_has_finished():
    run = Run(workers(2)).up()
    silent(run, "worker:0", 30.0), silent(run, "worker:1", 30.0)
    assert run.wait(100) == []


def test_while_somebody_speaks_nobody_looks_through_all_tasks_for_silence():
    """It is asked after every event: with thousands of tasks that would take minutes."""

    def awaited():
        raise AssertionError("all tasks are looked at")

    hangs = Hangs(None, awaited)
    assert hangs.deadline is None
    assert FinishedPeers(Tasks([], "run"), awaited, hangs).deadline is None
