"""Which of several failures was the first."""

from tests.builders import workers
from tests.sentences import names
from tfmesos.core import events as happened
from tfmesos.core.endings import OUT_OF_TOUCH, SECOND_REPORT
from tfmesos.core.phases import Phase
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN
from tfmesos.errors import LAUNCHER_LOST, RUNNER_EXITS

from .restart_policies import ALL, KILLED, said
from .run import HOST, Run, started


def test_an_end_that_the_engine_told_first_stays_the_cause_although_others_fell_meanwhile():
    run = Run(workers(2)).up()
    run.gone("worker:1", KILLED, "was killed by SIGKILL (signal 9)")
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    run.now += 1
    run.exit("worker:0", 1)
    assert run.outcome.cause.task.name == "worker:1" and run.outcome.exit_code == KILLED
    assert [end.task.name for end in run.outcome.others] == ["worker:0"]


def out_of_touch_while_another_fails(**options):
    run = Run(workers(2), **options).up()
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    run.now += 5
    (text,) = said(run.exit("worker:0", 1))
    assert "worker:0 exited with 1" in text
    assert f"worker:1 on {HOST} is unreachable" in text
    run.gone("worker:0", 1)
    assert run.wait(5) == []
    return run


def test_a_task_that_fails_while_another_is_out_of_touch_is_not_the_cause_if_that_one_is_lost():
    run = out_of_touch_while_another_fails()
    run(happened.RunnerLost(run.id("worker:1"), "silent for 20 s"))
    run.wait(SECOND_REPORT)
    assert run.outcome.cause.task.name == "worker:1"
    assert [end.task.name for end in run.outcome.others] == ["worker:0"]


def test_a_lost_node_restarts_all_although_others_fell_before_that_was_sure():
    run = out_of_touch_while_another_fails(restarts=ALL)
    run.gone("worker:1", reason="is gone with its node", is_lost=True)
    todo = run.wait(SECOND_REPORT + 1)
    assert names(said(todo)[0], f"worker:1 on {HOST} is gone with its node", "all tasks")
    assert started(todo) == ["run-worker-0-2", "run-worker-1-2"]


def test_a_task_that_fails_while_another_is_out_of_touch_is_the_cause_if_that_one_is_back():
    run = out_of_touch_while_another_fails()
    run(happened.RunnerBack(run.id("worker:1")))
    run.wait(0)
    run.exit("worker:1", 143)
    assert run.outcome.cause.task.name == "worker:0" and run.outcome.exit_code == 1


def test_tasks_that_all_lost_the_launcher_do_not_wait_for_each_other():
    run = Run(workers(2)).up()
    for name in ("worker:0", "worker:1"):
        run(happened.RunnerOutOfTouch(run.id(name)))
    for name in ("worker:0", "worker:1"):
        run.gone(name, LAUNCHER_LOST)
    run.wait(SECOND_REPORT)
    assert RUNNER_EXITS[LAUNCHER_LOST] in str(run.outcome.error)
    assert run.outcome.cause.task.name == "worker:0"
    assert run.outcome.exit_code == 1
    assert run.outcome.unstopped == ()


def test_a_task_whose_end_is_known_is_not_out_of_touch():
    run = Run(workers(2)).up()
    run.gone("worker:1", 3)
    run(happened.RunnerOutOfTouch(run.id("worker:1")))
    run.exit("worker:0", 1)
    assert run.outcome.cause.task.name == "worker:1"


def test_the_doubts_about_an_attempt_do_not_hit_the_next_one():
    run = Run(workers(2), restarts=ALL).up()
    run.exit("worker:1", KILLED)
    run.wait(KILL_GRACE + STOP_MARGIN - 1)
    run(happened.RunnerLost(run.id("worker:0"), "reset"))
    run.wait(1)
    run.back()
    run.wait(60)
    assert run.state.phase is Phase.RUNNING and run.state._cluster.is_ready


def test_the_silence_of_an_attempt_does_not_hit_the_next_one():
    run = Run(workers(2), restarts=ALL, hang_timeout=60.0).up()
    run(happened.TaskFellSilent(run.id("worker:0"), 59.0))
    run.exit("worker:1", KILLED)
    run.wait(KILL_GRACE + STOP_MARGIN)
    run.back()
    run.exit("worker:1")
    run.wait(30)
    assert run.state.phase is Phase.RUNNING


def test_nobody_waits_for_ever_to_see_who_fell_first():
    run = out_of_touch_while_another_fails()
    run.wait(OUT_OF_TOUCH)
    assert run.state.phase is Phase.STOPPING
