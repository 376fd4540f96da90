"""The owner of a run has a task started again, whatever the policy says."""

import pytest

from tests.builders import an_offer, ports, servers, workers
from tests.replay import Run, only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.engines.mesos import actions as calls

from .restart_policies import said


def placed(*jobs, **rules):
    run = Run(*jobs, **rules)
    run.subscribe()
    small = an_offer("small", agent="b", cpus=0.1)
    run.offer(small, an_offer("o1", agent="a", cpus=8, more=[ports((31000, 31009))]))
    run.register()
    run.ready()
    return run


def request(run, name, elsewhere=False):
    return run(happened.RestartRequested(run.id(name), elsewhere))


@pytest.mark.parametrize("code", [0, 3, 143])
def test_a_task_is_ended_and_started_again_however_it_ends(code):
    run = placed(workers(2), servers(1), stop_grace=60.0)
    (stop,) = request(run, "worker:1")
    assert (stop.task_id, stop.grace) == ("run-worker-1-1", 60.0)
    todo = run.exit("worker:1", code)
    assert said(todo) == [
        f"worker:1 on host-of-o1 exited with {code}; starting it again there, as its owner wants"
    ]
    assert run.state.phase is Phase.RUNNING
    port = run.state.members.by_name("worker:1").port
    elsewhere = an_offer("o2", agent="b", more=[ports((port, port))])
    assert only(calls.Launch, run.offer(elsewhere)) == []
    (launch,) = only(calls.Launch, run.offer(an_offer("o3", agent="a", more=[ports((port, port))])))
    assert [task_id for task_id, _ in launch.seats] == ["run-worker-1-2"]


def test_a_task_that_is_replaced_goes_to_another_node():
    run = placed(workers(2))
    request(run, "worker:1", elsewhere=True)
    todo = run.exit("worker:1", 143)
    assert said(todo)[0].endswith("starting it again on another node, as its owner wants")
    assert only(calls.Launch, run.offer(an_offer("o2", agent="a"))) == []
    (launch,) = only(calls.Launch, run.offer(an_offer("o3", agent="b")))
    assert launch.agent_id == "b"


def test_a_requested_restart_is_not_counted_and_happens_once():
    run = placed(workers(2))
    for _ in range(5):
        request(run, "worker:1")
        run.exit("worker:1", 0)
        port = run.state.members.by_name("worker:1").port
        run.offer(an_offer("again", agent="a", more=[ports((port, port))]))
        run.register("worker:1")
        run.ready("worker:1")
    run.exit("worker:1", 3)
    assert run.state.phase is Phase.STOPPING


def test_a_run_is_not_over_while_its_last_worker_is_started_again():
    run = placed(workers(1))
    request(run, "worker:0")
    run.exit("worker:0", 0)
    run.wait(5)
    assert run.outcome is None


@pytest.mark.parametrize(
    "bring_to", [lambda run: run.exit("worker:1"), lambda run: run.exit("worker:1", 3)]
)
def test_what_has_ended_is_not_started_again(bring_to):
    run = placed(workers(2))
    bring_to(run)
    assert only(do.StopRunner, request(run, "worker:1")) == []
    assert run.state.members.why_not_restart(run.id("worker:1")) == "is not running"


def test_a_second_request_for_the_same_task_changes_nothing():
    run = placed(workers(2))
    request(run, "worker:1")
    assert run.state.members.to_restart("worker:1") == (
        "run-worker-1-1",
        "worker:1 is being started again already",
    )
    assert request(run, "worker:1", elsewhere=True) == []
    assert said(run.exit("worker:1", 0))[0].endswith("starting it again there, as its owner wants")
    port = run.state.members.by_name("worker:1").port
    run.offer(an_offer("o3", agent="a", more=[ports((port, port))]))
    run.register("worker:1"), run.ready("worker:1")
    assert run.state.members.to_restart("worker:1") == ("run-worker-1-2", "")
