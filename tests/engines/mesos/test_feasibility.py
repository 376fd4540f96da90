"""What the agents that a master knows can never hold; and how its answer is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.engines.mesos.strategies import clusters, some_constraints
from tests.sentences import names
from tfmesos.config.constraints import Node
from tfmesos.config.job import Resources
from tfmesos.engines.mesos.api.json_values import NONSENSE
from tfmesos.engines.mesos.feasibility import Holder, KnownAgent, holders, never, parse
from tfmesos.engines.mesos.placement import place


def agent(hostname, cpus=4.0, mem=8192.0, gpus=0, disk=0.0, ports=None, **attributes):
    return KnownAgent(Node(hostname, attributes), Resources.of(cpus, mem, gpus, disk), ports)


THREE = [agent("a", 1, rack="r1"), agent("b", 2, rack="r2"), agent("c", 3, rack="r2")]


@pytest.mark.parametrize(
    "jobs, parts",
    [
        ([workers(1, cpus=64)], ("worker:0 needs cpus 64", "more than cpus 3 (c)")),
        (
            [workers(1), servers(1, gpus=1, disk=5)],
            ("ps:0 needs cpus 1, mem 1024, gpus 1, disk 5", "gpus 0 (a), disk 0 (a)"),
        ),
        (
            [workers(1, cpus=2, constraints=["rack:IS:r1"])],
            ("worker:0 needs cpus 2", "rack:IS:r1", "more than cpus 1 (a)"),
        ),
        (
            [workers(1, constraints=["rack:IS:r9"])],
            ("worker:0: no agent", "rack:IS:r9 (rack: r1, r2)"),
        ),
        (
            [workers(1, constraints=["zone:CLUSTER"])],
            ("worker:0: no agent", "zone:CLUSTER", "none", "attribute zone"),
        ),
        (
            [workers(4, constraints=["hostname:UNIQUE"])],
            ("worker:3:", "hostname:UNIQUE", "a, b, c", "each needs cpus 1"),
        ),
        (
            [workers(6, constraints=["rack:CLUSTER"])],
            ("worker:5:", "6 tasks", "rack:CLUSTER", "r2", "each needs cpus 1"),
        ),
        (
            [workers(3, constraints=["rack:GROUP_BY:3"])],
            ("worker:2:", "rack:GROUP_BY:3", "r1, r2", "each needs cpus 1"),
        ),
        (
            [workers(3, cpus=2)],
            ("worker:2: all agents", "2 of 3", "each needs cpus 2"),
        ),
        (
            [workers(4), servers(3)],
            ("all 7 tasks", "3 agents", "cpus 6 < 7"),
        ),
    ],
)
def test_what_can_never_be_placed_is_named_with_its_numbers(jobs, parts):
    assert names(never([task for job in jobs for task in job.tasks], THREE), *parts)


def test_of_what_can_be_placed_nothing_is_said():
    assert never([*workers(3).tasks, *servers(3).tasks], THREE) == ""


def test_what_is_there_but_never_on_one_agent_is_told_apart():
    agents = [agent("a", cpus=8, mem=1024), agent("b", cpus=1, mem=9000)]
    reason = never(workers(1, cpus=4, mem=2048).tasks, agents)
    assert names(reason, "worker:0 needs cpus 4, mem 2048", "largest", "cpus 8, mem 1024 (a)")


def test_a_cluster_without_agents_may_yet_get_some():
    assert never(workers(1).tasks, []) == ""


@given(st.integers(0, 5), st.integers(0, 2), some_constraints, clusters())
def test_never_is_not_said_of_what_can_be_placed(count, more, constraints, offers):
    tasks = [*workers(count, constraints=constraints).tasks, *servers(more).tasks]
    agents = [KnownAgent(offer.node, offer.total) for offer in offers]
    if not place(tasks, offers).unplaced:
        assert never(tasks, agents) == ""


def answer(**fields):
    summary = {"cpus": 8.0, "mem": 4096.0, "disk": 100.0, "gpus": 0.0, "ports": "[1-9]"}
    return {"slaves": [{"hostname": "a", "resources": summary, **fields}]}


def test_attributes_read_as_they_do_in_offers():
    attributes = {"rack": "r1", "weight": 2.5, "slots": "[1-3, 7-9]", "kinds": "{a, b}"}
    (found,) = parse(answer(attributes=attributes), "*")
    assert found.node.attributes == {
        "rack": "r1",
        "weight": "2.5",
        "slots": "[1-3,7-9]",
        "kinds": "{a,b}",
    }


@pytest.mark.parametrize(
    "role, cpus", [("*", 5.0), ("ml", 7.0), ("ml/vision", 7.0), ("mlx", 5.0), ("etl", 6.0)]
)
def test_what_is_reserved_for_others_does_not_count(role, cpus):
    reserved = {"ml": {"cpus": 2.0, "mem": 1.0}, "etl": {"cpus": 1.0}}
    (found,) = parse(answer(reserved_resources=reserved), role)
    assert found.total.cpus == cpus * 1000


def test_gpus_with_names_are_counted():
    (found,) = parse(answer(resources={"cpus": 1, "gpus": "{GPU-0, GPU-1}"}), "*")
    assert found.total.gpus == 2000


@pytest.mark.parametrize(
    "lie",
    [
        {"hostname": ["a"]},
        {"hostname": None},
        {"resources": {"cpus": [1]}},
        {"resources": {"cpus": -1}},
        {"resources": {"cpus": float("inf")}},
        {"resources": {"cpus": True}},
        {"resources": []},
        {"attributes": [1]},
        {"reserved_resources": {"ml": {"cpus": None}}},
    ],
)
def test_an_agent_that_makes_no_sense_is_refused(lie):
    with pytest.raises(NONSENSE):
        parse(answer(**lie), "*")


def test_agents_that_have_yet_to_come_back_forbid_a_verdict():
    assert parse({**answer(), "recovered_slaves": [{"id": "x"}]}, "*") == ()


def framework(id, cpus, **more):
    used = {"cpus": cpus, "mem": 512.0, "gpus": 0, "disk": 0} if cpus else {}
    return {"id": id, "name": f"name of {id}", "user": "alice", "used_resources": used, **more}


def test_it_is_told_who_else_holds_what_and_for_how_long():
    body = {
        "frameworks": [
            framework("small", 1.0, registered_time=1000.0),
            framework("ours", 64.0),
            framework("idle", 0),
            framework("large", 8.0, registered_time=400.0),
        ]
    }
    assert holders(body, "ours", 1120.0) == (
        Holder("name of large", "alice", Resources.of(8, 512), 720.0),
        Holder("name of small", "alice", Resources.of(1, 512), 120.0),
    )


@pytest.mark.parametrize("nonsense", [{"frameworks": 5}, {"frameworks": [{"id": "x"}]}, [], {}])
def test_an_answer_on_frameworks_that_makes_no_sense_is_known_as_such(nonsense):
    with pytest.raises(NONSENSE):
        holders(nonsense, "ours", 0.0)


def test_a_port_that_no_agent_offers_is_never_had():
    agents = [agent("a", ports=((31000, 32000),)), agent("b", ports=((33000, 33000),))]
    assert names(never(workers(1, port="=2222").tasks, agents), "worker:0", "port 2222", "no agent")
    assert never(workers(1, port="=33000").tasks, agents) == ""
    assert never(workers(1, port=2222).tasks, agents) == ""
    assert never(workers(1, port="=2222").tasks, [agent("c")]) == ""  # it has no ports to offer


def test_an_agent_has_each_port_once():
    agents = [agent("a", ports=((31000, 32000),)), agent("b", ports=((33000, 33000),))]
    reason = never(workers(2, port="=31000").tasks, agents)
    assert names(reason, "worker:1", "1 of 2", "port 31000")


def test_every_task_needs_a_port_of_an_agent_that_offers_ports():
    few = [agent("a", 64, ports=((31000, 31001),)), agent("b", 64, ports=((31000, 31000),))]
    assert never(workers(3).tasks, few) == ""
    assert names(never(workers(4).tasks, few), "worker:3", "3 of 4", "a port")
    both = never([*workers(2).tasks, *servers(2).tasks], few)
    assert names(both, "4 tasks", "2 agents", "ports 3 < 4")
    assert never(workers(8).tasks, [*few, agent("c", 64)]) == ""  # it has no ports to offer
    assert never(workers(8).tasks, [agent("d", 64, ports=())]) == ""  # nor has this one


def test_the_ports_of_an_agent_are_read_as_the_master_writes_them():
    resources = {"cpus": 1, "ports": "[31000-31999, 33000-33000]"}
    body = {"slaves": [{"hostname": "a", "resources": resources}]}
    assert parse(body, "*")[0].ports == ((31000, 31999), (33000, 33000))
