"""How each task is asked to end, and when a stop is over."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.stopping import HANG_REPORT, KILL_GRACE, STOP_MARGIN, Stopping
from tfmesos.core.tasks import Stage, Tasks


def stopping():
    jobs = (workers(3), servers(1, cmd=None))
    members = Tasks([task for job in jobs for task in job.tasks], "run")
    launched, ended, _, server = members
    for member in (launched, ended, server):
        members.launch(happened.Placed(member.task_id, "n", "host"))
    members.move(ended, Stage.ENDED)
    members.move(server, Stage.READY)
    return members, Stopping(members, 0.0)


def test_every_task_is_ended_as_far_as_it_has_come():
    _, stop = stopping()
    assert stop.begin("enough", 10.0) == [
        do.StopPlacing("enough"),
        do.Kill("run-worker-0-1"),
        do.StopRunner("run-ps-0-1", KILL_GRACE, "enough", False),
    ]
    assert stop.over_at == 10.0 + KILL_GRACE + STOP_MARGIN
    assert not stop.is_over(16.9) and stop.is_over(17.0)


def test_to_tell_what_they_do_commands_get_time_and_servers_are_not_asked():
    members, stop = stopping()
    members.move(next(iter(members)), Stage.READY)
    looks = [one.examine for one in only(do.StopRunner, stop.begin("hung", 10.0, examine=True))]
    assert looks == [True, False]
    assert stop.over_at == 10.0 + KILL_GRACE + STOP_MARGIN + HANG_REPORT


def test_a_pause_is_kept_even_if_nobody_lives_and_nobody_outlives_a_long_one():
    members, stop = stopping()
    stop.begin("again", 10.0, pause=30.0)
    assert stop.over_at == 40.0
    for member in members:
        members.move(member, Stage.ENDED)
    assert stop.over_at == 40.0
    assert stop.begin("over", 50.0) == []
    assert stop.over_at == 50.0


def test_output_that_is_held_gives_those_that_are_late_a_little_more():
    _, stop = stopping()
    stop.begin("enough", 10.0)
    stop.wait_for_output(16.9)
    assert stop.over_at == 17.0
    stop.wait_for_output(17.0)
    assert stop.over_at == 17.0 + STOP_MARGIN
