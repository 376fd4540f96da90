"""Which tasks places are asked for, and when."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.tasks import Stage, Tasks

from .life import FIRST, SECOND, Life


def test_places_are_asked_for_all_tasks_at_once():
    (place,) = Life(workers(2), servers(1))(happened.EngineReady())
    assert [wanted.task_id for wanted in place.tasks] == [FIRST, SECOND, "run-ps-0-1"]
    assert not place.others_run


def test_tasks_whose_places_were_refused_after_all_are_asked_for_again():
    life = Life()
    life(happened.EngineReady())
    life.place()
    life(happened.TasksNotPlaced((SECOND,)))
    (place,) = life(happened.EngineReady())
    assert [wanted.task_id for wanted in place.tasks] == [SECOND]


def test_what_can_never_be_placed_ends_the_run_with_its_reason():
    life = Life()
    life(happened.EngineReady())
    assert only(do.StopPlacing, life(happened.Impossible("worker:0 needs cpus 8")))
    assert "worker:0 needs cpus 8" in str(life.outcome.error)
    assert life.outcome.exit_code == 75


def test_a_task_beside_the_launcher_needs_no_place():
    tasks = [task for job in (workers(2), servers(1)) for task in job.tasks]
    members = Tasks(tasks, "run")
    members.add_local(tasks[1], "local-id", "127.0.0.1:1")
    first, second, _ = members
    assert (second.task_id, second.runs_here, second.hostname) == ("local-id", True, "this machine")
    assert (second.address, second.stage) == ("127.0.0.1:1", Stage.REGISTERED)
    assert members.live("local-id") is second and not first.runs_here
    assert [member.task.name for member in members.waiting()] == ["worker:0", "ps:0"]
    assert members.with_runner == 1 and members.live_count == 1
