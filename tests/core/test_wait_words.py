"""How a wait is told of, summed up and given up."""

from tests.builders import workers
from tests.sentences import names
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.tasks import Tasks
from tfmesos.core.waiting import FIRST_NOTICE, NOTICE_EVERY, REPEAT_AFTER, Wait
from tfmesos.errors import EngineError, ResourcesError, StartTimeout

from .life import FIRST, SECOND, Life, exited


def waiting(timeout=None):
    members = Tasks(workers(1).tasks, "run")
    return members, Wait(members, timeout, 10.0)


def test_why_the_engine_is_not_ready_is_said_once_and_repeated_seldom():
    wait = Wait(Life().state.members, None, 0.0)
    assert wait.note_trouble("no leader").text == "no leader"
    assert wait.notice(FIRST_NOTICE) == []
    assert [say.text for say in wait.notice(REPEAT_AFTER)] == ["no leader"]


def test_a_wait_is_summed_up_in_a_line_and_nothing_is_said_when_nobody_waits():
    life = Life()
    assert names(life.state.summary(), "0 of 2 tasks registered", "waiting for the cluster")
    life(happened.EngineTrouble("no leader"))
    assert life.state.summary() == "0 of 2 tasks registered; no leader"
    life(happened.EngineReady())
    life(happened.Waiting(1, "too small"))
    assert names(life.state.summary(), "0 of 2", "registered", "1 of 2", "placed", "too small")
    life.place()
    life(happened.TaskRegistered(FIRST, "h:0", 0))
    summary = life.state.summary()
    assert names(summary, "1 of 2 tasks registered", f"worker:1 on host-{SECOND}", "report")
    life(happened.TaskRegistered(SECOND, "h:1", 1))
    assert life.state.summary() == ""
    life(happened.StopRequested("enough", 130))
    assert life.state.summary() == "stopping worker:0, worker:1"
    life(exited(FIRST, 143))
    assert life.state.summary() == "stopping worker:1"
    life(exited(SECOND, 143))
    assert (life.state.phase, life.state.summary()) == (Phase.FINISHED, "")


def test_a_pause_is_summed_up():
    life = Life(restarts=RestartPolicy(3, "task"))
    life.up()
    life(exited(FIRST, 137))
    assert names(life.state.summary(), "1 of 2 tasks registered", "worker:0 is launched again")


def test_a_pause_of_several_is_summed_up():
    life = Life(restarts=RestartPolicy(3, "task"))
    life.up()
    for task_id in (FIRST, SECOND):
        life(exited(task_id, 137))
    assert life.state.summary().endswith("before worker:0, worker:1 are launched again")


def test_a_wait_is_told_of_soon_then_when_it_changes_and_seldom_when_it_does_not():
    _, wait = waiting()
    first = 10.0 + FIRST_NOTICE
    assert (wait.deadline, wait.notice(first - 0.1)) == (first, [])
    assert wait.notice(first) == [do.Say("waiting for the cluster", "notice")]
    assert wait.deadline == first + NOTICE_EVERY
    assert wait.notice(first + NOTICE_EVERY) == []
    assert wait.notice(first + REPEAT_AFTER - 0.1) == []
    wait.trouble = "no leader"
    assert wait.notice(first + REPEAT_AFTER + NOTICE_EVERY) == [do.Say("no leader", "notice")]
    late = first + REPEAT_AFTER + NOTICE_EVERY + REPEAT_AFTER
    assert wait.notice(late) == [do.Say("no leader", "notice")]


def test_a_wait_without_a_limit_is_never_over_and_one_with_it_at_its_time():
    _, endless = waiting()
    assert not endless.is_over(1e9)
    _, wait = waiting(2.0)
    assert (wait.deadline, wait.is_over(11.9), wait.is_over(12.0)) == (12.0, False, True)
    wait.begin(20.0)
    assert (wait.deadline, wait.is_over(21.9)) == (22.0, False)


def test_a_wait_that_is_over_has_failed_of_what_was_awaited_last():
    members, wait = waiting(2.0)
    error = wait.error()
    assert type(error) is EngineError
    assert names(str(error), "2 s", "waiting for the cluster")
    wait.is_engine_ready = True
    error = wait.error()
    assert type(error) is ResourcesError
    assert names(str(error), "2 s", "0 of 1 task placed")
    members.launch(happened.Placed("run-worker-0-1", "n", "host"))
    error = wait.error()
    assert type(error) is StartTimeout
    assert names(str(error), "2 s", "worker:0 on host", "report")
