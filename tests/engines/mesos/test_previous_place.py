"""The previous place of a task that is started again."""

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import events as happened
from tfmesos.core.actions import PreviousPlace
from tfmesos.core.restarts import PREVIOUS_PLACE_ONLY
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import previous_place

from .offers import an_offer, ports
from .run import Run

TASK = RestartPolicy(after_start="task")


def test_a_previous_place_is_found_where_agents_offer_no_ports_too():
    (task,) = workers(1).tasks
    place = previous_place.find(task, PreviousPlace("agent-of-o1", 4000, 9.0), [an_offer("o1")])
    assert place.seats[0].port == 4000


def test_a_previous_place_whose_port_is_taken_is_not_found():
    (task,) = workers(1).tasks
    offer = an_offer("o1", more=[ports((31000, 31001))])
    assert previous_place.find(task, PreviousPlace("agent-of-o1", 31002, 9.0), [offer]) is None


def placed(*jobs, **rules):
    """All tasks run on the agent a; b is known, but has no room yet."""
    run = Run(*jobs, **rules)
    run.subscribe()
    small = an_offer("small", agent="b", cpus=0.1)
    run.offer(small, an_offer("o1", agent="a", cpus=8, more=[ports((31000, 31009))]))
    run.register()
    run.ready()
    return run


def offer_of(run, id, agent, name):
    """An offer of *agent* with the port of the task of this name."""
    port = run.state.members.by_name(name).port
    return an_offer(id, agent=agent, more=[ports((port, port))])


def test_a_task_that_is_started_again_goes_to_its_agent_and_port_and_the_other_offer_goes_back():
    run = placed(workers(2), servers(1), restarts=TASK)
    port = run.state.members.by_name("worker:1").port
    run.exit("worker:1", 137)
    assert run.wait(1) == [calls.Revive()]
    assert only(calls.Launch, run.offer(offer_of(run, "o2", "b", "worker:1"))) == []
    todo = run.offer(an_offer("o3", agent="a", more=[ports((port - 1, port + 1))]))
    (launch,) = only(calls.Launch, todo)
    ((task_id, seat),) = launch.seats
    assert (task_id, seat.port, launch.offer_ids) == ("run-worker-1-2", port, ("o3",))
    assert [decline.offer_ids for decline in only(calls.Decline, todo)] == [("o2",)]
    assert todo[-1] == calls.Suppress()


def test_a_task_whose_previous_place_does_not_come_back_takes_another():
    run = placed(workers(2), restarts=TASK)
    run.exit("worker:1", 137)
    run.wait(1 + PREVIOUS_PLACE_ONLY)
    (launch,) = only(calls.Launch, run.offer(an_offer("o2", agent="b")))
    assert launch.agent_id == "b"


def test_a_task_of_a_lost_agent_does_not_wait_for_that_agent():
    run = placed(workers(2), restarts=TASK)
    run(happened.RunnerLost(run.id("worker:1"), "no message came from it for 20 s"))
    run.update("worker:1", "TASK_GONE")
    run.wait(1)
    assert only(calls.Launch, run.offer(an_offer("o2", agent="b")))


def request(run, name, elsewhere=False):
    run(happened.RestartRequested(run.id(name), elsewhere))
    return run.exit(name, 143)


def test_a_task_that_its_owner_has_started_again_stays_where_it_was():
    run = placed(workers(2))
    request(run, "worker:1")
    assert only(calls.Launch, run.offer(offer_of(run, "o2", "b", "worker:1"))) == []
    (launch,) = only(calls.Launch, run.offer(offer_of(run, "o3", "a", "worker:1")))
    assert [task_id for task_id, _ in launch.seats] == ["run-worker-1-2"]


def test_a_task_that_is_replaced_goes_to_another_agent():
    run = placed(workers(2))
    request(run, "worker:1", elsewhere=True)
    assert only(calls.Launch, run.offer(an_offer("o2", agent="a"))) == []
    (launch,) = only(calls.Launch, run.offer(an_offer("o3", agent="b")))
    assert launch.agent_id == "b"
