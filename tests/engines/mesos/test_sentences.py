"""Why tasks have no places on Mesos, word for word."""

from tests.builders import servers, workers
from tests.sentences import assert_sentences
from tfmesos.config.constraints import Node
from tfmesos.config.job import Resources
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.feasibility import Holder, KnownAgent, never

from .offers import an_offer, ports, scalar
from .run import Run


def waiting(jobs, *offers):
    run = Run(*jobs)
    run.subscribe()
    if offers:
        run.offer(*offers)
    run.wait(1)
    return run


def known(hostname, cpus, mem=8192, **more):
    attributes = {name: value for name, value in more.items() if name != "ports"}
    return KnownAgent(Node(hostname, attributes), Resources.of(cpus, mem), more.get("ports"))


THREE = (known("a", 1, rack="r1"), known("b", 2, rack="r2"), known("c", 3, rack="r2"))
SMALL, LARGE = known("a", 1, mem=9000), known("b", 8, mem=1024)
FEW = (known("a", 64, ports=((31000, 31001),)), known("b", 64, ports=((31000, 31000),)))


def of_waits():
    large = [workers(2, cpus=4)]
    yield "no offer", waiting(large)
    yield "one of two has room", waiting(large, an_offer("o1", cpus=6))
    yield "no gpu", waiting([workers(1, gpus=1)], an_offer("o1"))
    few = [ports((31000, 31000))]
    two = [an_offer(f"o{n}", host=f"node-{n}", more=few) for n in range(2)]
    yield "no port", waiting([workers(3)], *two)
    unique = workers(3, constraints=["hostname:UNIQUE"])
    free = [an_offer(f"o{n}", host=f"node-{n}") for n in range(2)]
    yield "no further host", waiting([unique, servers(1, cpus=9)], *free)
    racks = [an_offer(f"o{n}", rack=f"r{n}") for n in range(2)]
    yield "no rack", waiting([workers(1, constraints=["rack:IS:r9"])], *racks)
    pieces = [an_offer(f"o{n}", cpus=4.5, more=[scalar("disk", 100)]) for n in range(2)]
    yield "in pieces", waiting([workers(3, cpus=3, disk=10)], *pieces)
    run = waiting(large)
    others = tuple(Holder(f"job {n}", "alice", Resources.of(1, 64), 60.0**n) for n in range(1, 5))
    run(mesos.AgentsCounted((known("a", 8), known("b", 1)), others))
    run.wait(1)
    yield "others hold it", run


def of_what_can_never_be():
    for constraint in ("rack:IS:r9", "zone:CLUSTER", "hostname:UNIQUE", "rack:CLUSTER"):
        yield constraint, never(workers(6, constraints=[constraint]).tasks, THREE)
    three = workers(3, constraints=["rack:GROUP_BY:3"]).tasks
    yield "rack:GROUP_BY:3", never(three, THREE)
    on_rack = workers(1, cpus=2, constraints=["rack:IS:r1"]).tasks
    yield "too large for the rack", never(on_rack, THREE)
    yield "too large", never(workers(1, cpus=64).tasks, THREE)
    yield "not on one agent", never(workers(1, cpus=4, mem=2048).tasks, (SMALL, LARGE))
    yield "too many of a job", never(workers(3, cpus=2).tasks, THREE)
    yield "too many", never([*workers(4).tasks, *servers(3).tasks], THREE)
    yield "no such port", never(workers(1, port="=2222").tasks, FEW)
    yield "too few such ports", never(workers(3, port="=31000").tasks, FEW)
    yield "too few ports", never([*workers(2).tasks, *servers(2).tasks], FEW)


def test_they_are_as_written_down():
    waits = {name: run.state.summary() for name, run in of_waits()}
    assert_sentences("mesos-sentences", {"waits": waits, "never": dict(of_what_can_never_be())})
