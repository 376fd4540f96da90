"""Engines say for how many tasks of the next generation there is room."""

import pytest

from tests.builders import servers, workers
from tests.engines.kubernetes.runs import Run as OnKubernetes
from tests.engines.mesos.offers import an_offer
from tests.engines.mesos.run import Run
from tests.replay import only
from tfmesos.config.constraints import Node
from tfmesos.config.job import Job, Resources
from tfmesos.core import actions as do
from tfmesos.core import events as tell
from tfmesos.core.actions import LookForRoom, Place, Wanted
from tfmesos.engines.kubernetes import events as kubernetes
from tfmesos.engines.kubernetes.actions import CountRoom
from tfmesos.engines.kubernetes.node_room import NodeRoom, free_rooms
from tfmesos.engines.local.engine import LocalEngine
from tfmesos.engines.local.events import GpusHeld, GpusTaken, MachineFound
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.actions import CountAgents
from tfmesos.engines.mesos.feasibility import KnownAgent, parse


def room(outputs):
    return [seen.tasks for seen in only(tell.RoomSeen, outputs)]


# Mesos


def agent(name, cpus, used=0.0, **more):
    amounts = Resources.of(cpus, 1e6), Resources.of(used)
    return KnownAgent(Node(name), amounts[0], id=f"agent-of-{name}", used=amounts[1], **more)


def on_mesos():
    """Two of up to eight workers of one CPU each run, on the agents of o0 and o1."""
    run = Run(workers("2:8", cpus=1.0))
    run.subscribe()
    run.wait(11)
    run.offer(an_offer("o0", cpus=1.0), an_offer("o1", cpus=1.0))
    run.wait(5)
    assert len(list(run.state.members)) == 2
    return run


@pytest.mark.parametrize(
    "others, found",
    [
        ((), 2),
        ((agent("o2", 2),), 4),
        ((agent("o2", 2, used=1.5),), 2),
        ((agent("o2", 2, is_active=False),), 2),
        ((agent("o2", 64),), 8),
    ],
    ids=["none", "free", "used", "inactive", "large"],
)
def test_on_mesos_what_is_free_and_what_the_run_uses_itself_counts(others, found):
    run = on_mesos()
    engine = run.deciders._engine
    (asked,) = engine.handle(LookForRoom(workers("2:8", cpus=1.0).tasks), run.now)
    assert isinstance(asked, CountAgents)
    own = (agent("o0", 1, used=1), agent("o1", 1, used=1))
    counted = mesos.AgentsCounted((*own, *others), (), ())
    assert room(engine.handle(counted, run.now)) == [found]
    assert room(engine.handle(counted, run.now)) == []  # it was asked once


def test_on_mesos_nobody_grows_on_agents_that_the_master_does_not_tell_of():
    run = on_mesos()
    engine = run.deciders._engine
    engine.handle(LookForRoom(workers("2:8", cpus=1.0).tasks), run.now)
    assert room(engine.handle(mesos.AgentsCounted(None), run.now)) == [0]


def test_an_agent_is_read_with_what_is_used_of_it_and_whether_it_is_active():
    slave = {
        **{"id": "S1", "hostname": "a", "resources": {"cpus": 4}, "used_resources": {"cpus": 1.5}},
        **{"active": True, "deactivated": True},
    }
    (found,) = parse({"slaves": [slave]}, "*")
    assert (found.id, found.used, found.is_active) == ("S1", Resources.of(1.5), False)


# Kubernetes


def look_on_kubernetes(nodes):
    run = OnKubernetes(workers("2:4", cpus=1.0, mem=100), servers(1, cpus=1.0, mem=100))
    (asked,) = run.engine.handle(LookForRoom(tuple(run.tasks)), run.now)
    assert isinstance(asked, CountRoom)
    return run, run.engine.handle(kubernetes.RoomCounted(nodes), run.now)


@pytest.mark.parametrize("sizes, found", [((1, 1), 0), ((1.5, 1.5, 1), 3), ((2, 2), 4), ((9,), 5)])
def test_on_kubernetes_tasks_are_counted_that_fit_on_the_nodes(sizes, found):
    nodes = tuple(NodeRoom(f"n{cpus}", Resources.of(cpus, 1e6)) for cpus in sizes)
    assert room(look_on_kubernetes(nodes)[1]) == [found]


def test_on_kubernetes_a_right_that_is_missing_is_named_once():
    run, (said,) = look_on_kubernetes(None)
    assert isinstance(said, do.Say) and "tfrun update" in said.text
    assert run.engine.handle(kubernetes.RoomCounted(None), run.now) == []


def a_node(name, cpu="4", **spec):
    status = {
        "allocatable": {"cpu": cpu, "memory": "1Gi", "x/gpu": "2"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return {"metadata": {"name": name}, "spec": spec, "status": status}


def a_pod(node, cpu, phase="Running"):
    containers = [{"resources": {"requests": {"cpu": cpu, "x/gpu": "1"}}}, {}]
    return {"spec": {"nodeName": node, "containers": containers}, "status": {"phase": phase}}


def test_on_kubernetes_what_other_pods_ask_for_is_not_free():
    pods = [a_pod("a", "1500m"), a_pod("a", "500m"), a_pod("a", "1", "Succeeded"), {}]
    assert free_rooms([a_node("a")], pods, "x/gpu") == (NodeRoom("a", Resources.of(2, 1024, 0)),)


def test_on_kubernetes_nodes_that_take_no_pods_do_not_count():
    silent = a_node("b")
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    tainted = a_node("c", taints=[{"effect": "NoSchedule"}])
    cordoned = a_node("d", unschedulable=True)
    preferred = a_node("e", taints=[{"effect": "PreferNoSchedule"}])
    found = free_rooms([silent, tainted, cordoned, preferred], [], "x/gpu")
    assert [one.name for one in found] == ["e"]


# This machine


def here():
    """One of up to three workers of two GPUs each runs, with GPUs a and b."""
    engine = LocalEngine()
    engine.handle(MachineFound("here", ()), 0)
    job = Job("worker", "1:3", gpus=2)
    asked = tuple(Wanted(task.name, task, None, task.is_optional) for task in job.tasks)
    engine.handle(Place(asked, hold=10), 1)
    engine.handle(GpusHeld(2, ()), 12)
    engine.handle(GpusTaken(("a", "b")), 12)
    (take,) = engine.handle(LookForRoom(job.tasks), 20)
    assert take.number == 4
    return engine


def test_here_gpus_that_are_free_are_taken_for_the_next_generation():
    assert room(here().handle(GpusTaken(("c", "d", "e", "f")), 21)) == [3]


@pytest.mark.parametrize("free, found", [(0, 1), (1, 1), (2, 2), (3, 2)])
def test_here_gpus_that_others_hold_are_not_there(free, found):
    engine = here()
    assert room(engine.handle(GpusHeld(free, ()), 21)) == [found]
    assert engine.deadline is None
