"""Which task, and who else, is told what of a run as it goes on."""

import pytest

from tests.builders import servers, workers
from tests.sentences import names
from tfmesos.core import actions as do
from tfmesos.core import events as happened

from .life import FIRST, SECOND, Life


@pytest.mark.parametrize(
    "event, words",
    [
        (happened.NodeLost, ("lost", "node of worker:1")),
        (lambda ids: happened.NodeWanted(ids, 60.0), ("node of worker:1", "maintenance in 60 s")),
    ],
)
def test_of_nodes_only_those_of_our_tasks_are_worth_a_word(event, words):
    life = Life().up()
    (said,) = life(event(("of-nobody", SECOND)))
    assert names(said.text, *words) and said.level == "warning"
    assert life(event(("of-nobody",))) == []


def test_a_server_imports_tensorflow_while_the_others_register_and_a_command_does_not():
    life = Life(servers(1, cmd=None), workers(1))
    life(happened.EngineReady())
    life.place()
    server, worker = life.state.members
    prepare = do.Prepare(server.task_id, server.task)
    assert life(happened.TaskRegistered(server.task_id, "h:0", 0)) == [prepare]
    (start,) = life(happened.TaskRegistered(worker.task_id, "h:1", 1))
    assert start.cluster == {"ps": ["h:0"], "worker": ["h:1"]}


def test_when_the_last_command_runs_the_cluster_is_announced_with_its_addresses():
    life = Life()
    life(happened.EngineReady())
    life.place()
    life.register()
    assert life(happened.TaskReady(FIRST)) == []
    ready = do.AnnounceReady({"worker": ["h:0", "h:1"]})
    assert life(happened.TaskReady(SECOND)) == [ready]
    assert life(happened.TaskReady(SECOND)) == []


def test_a_runner_that_comes_when_the_run_is_ending_is_sent_away_at_once():
    life = Life()
    life(happened.EngineReady())
    life.place()
    life(happened.StopRequested("enough", 1))
    away = do.StopRunner(FIRST, 0, "the run is ending")
    assert life(happened.TaskRegistered(FIRST, "h:0", 0)) == [away]
    assert life(happened.TaskRegistered("of-nobody", "h:0", 0)) == []
    life(happened.StopRequested("enough", 1))
    assert life.outcome.exit_code == 1
    assert ("starting the tasks", 0.0) in life.outcome.times


def test_when_nobody_waits_the_engine_is_told_so():
    life = Life().up()
    assert life(happened.EngineReady()) == [do.StopPlacing("no task is waiting")]
    assert life(happened.Impossible("too big")) == []
