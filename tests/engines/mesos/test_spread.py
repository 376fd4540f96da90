"""No placement ever breaks a constraint, and none misses a place there is."""

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.engines.mesos.offers import amounts_of, an_offer
from tests.engines.mesos.strategies import clusters, on, some_constraints
from tests.sentences import names
from tfmesos.config.constraints import Node
from tfmesos.config.job import Job
from tfmesos.engines.mesos.placement import Sieve, place


def where(placement):
    """Host name -> its tasks."""
    return {p.hostname: [seat.task.name for seat in p.seats] for p in placement.loads}


def test_unique_is_one_task_of_the_job_on_each_host():
    wanted = [*workers(2, constraints=["hostname:UNIQUE"]).tasks, *servers(1).tasks]
    result = place(wanted, [on("a", 4), on("b", 4)])
    assert where(result) == {"a": ["worker:0", "ps:0"], "b": ["worker:1"]}


def test_a_task_that_cannot_be_unique_any_more_says_which_hosts_are_used():
    result = place(workers(3, constraints=["hostname:UNIQUE"]).tasks, [on("a", 4), on("b", 4)])
    assert [task.name for task in result.unplaced] == ["worker:2"]
    assert names(result.obstacles["worker"], "worker:2", "host", "hostname:UNIQUE", "a, b")


def test_cluster_takes_the_value_that_has_room_for_all():
    offers = [on("a", 2, rack="r1"), on("b", 2, rack="r2"), on("c", 1, rack="r2")]
    result = place(workers(3, constraints=["rack:CLUSTER"]).tasks, offers)
    assert where(result) == {"b": ["worker:0", "worker:1"], "c": ["worker:2"]}


def test_cluster_leaves_the_larger_value_to_those_who_need_it():
    offers = [on("a", 4, rack="r1"), on("b", 2, rack="r2")]
    wanted = [
        *workers(2, constraints=["rack:CLUSTER"]).tasks,
        *servers(4, constraints=["rack:CLUSTER"]).tasks,
    ]
    assert place(wanted, offers).unplaced == []


def test_a_cluster_that_fits_nowhere_says_so():
    offers = [on("a", 2, rack="r1"), on("b", 1, rack="r2")]
    result = place(workers(3, constraints=["rack:CLUSTER"]).tasks, offers)
    assert result.placed == 2
    assert names(result.obstacles["worker"], "worker:2", "3 tasks", "rack:CLUSTER", "r1")


def test_group_by_spreads_evenly_over_the_values_at_hand():
    offers = [on("a", 9, rack="r1"), on("b", 9, rack="r1"), on("c", 9, rack="r2")]
    result = place(workers(5, constraints=["rack:GROUP_BY"]).tasks, offers)
    assert {host: len(names) for host, names in where(result).items()} == {"a": 3, "c": 2}


def test_group_by_two_fields_spreads_over_the_second_within_the_first():
    offers = [on("a", 9, rack="r1"), on("b", 9, rack="r1"), on("c", 9, rack="r2")]
    wanted = workers(4, constraints=["rack:GROUP_BY", "hostname:GROUP_BY"]).tasks
    result = place(wanted, offers)
    assert {host: len(names) for host, names in where(result).items()} == {"a": 1, "b": 1, "c": 2}


def test_group_by_a_number_waits_for_so_many_values():
    wanted = workers(4, constraints=["rack:GROUP_BY:3"]).tasks
    offers = [on("a", 9, rack="r1"), on("b", 9, rack="r2")]
    result = place(wanted, offers)
    assert len(result.unplaced) == 1
    assert names(result.obstacles["worker"], "worker:3", "rack:GROUP_BY:3", "r1, r2")
    result = place(wanted, [*offers, on("c", 1, rack="r3")])
    assert {host: len(names) for host, names in where(result).items()} == {"a": 2, "b": 1, "c": 1}


def test_max_per_bounds_the_tasks_on_each_value():
    offers = [on("a", 9, rack="r1"), on("b", 9, rack="r1"), on("c", 9, rack="r2")]
    result = place(workers(5, constraints=["rack:MAX_PER:2"]).tasks, offers)
    assert result.placed == 4
    assert names(result.obstacles["worker"], "worker:4", "rack", "rack:MAX_PER:2", "r1, r2")


def test_a_task_that_comes_back_respects_where_its_fellows_are():
    job = workers(2, constraints=["hostname:UNIQUE", "rack:CLUSTER"])
    first, second = job.tasks
    seated = [(first, Node("a", {"rack": "r1"}))]
    offers = [on("a", 4, rack="r1"), on("b", 4, rack="r2"), on("c", 4, rack="r1")]
    assert where(place([second], offers, seated)) == {"c": ["worker:1"]}
    assert place([second], offers[:2], seated).placed == 0


def test_a_fellow_counts_when_the_tasks_are_spread():
    job = workers(3, constraints=["rack:GROUP_BY"])
    seated = [(job.tasks[0], Node("a", {"rack": "r1"})), (job.tasks[1], Node("a", {"rack": "r1"}))]
    offers = [on("a", 4, rack="r1"), on("b", 4, rack="r2")]
    assert where(place(job.tasks[2:], offers, seated)) == {"b": ["worker:2"]}


def test_tasks_of_other_jobs_do_not_count():
    ps = servers(1, constraints=["hostname:UNIQUE"]).tasks[0]
    result = place(workers(1, constraints=["hostname:UNIQUE"]).tasks, [on("a")], [(ps, Node("a"))])
    assert result.placed == 1


def test_free_tasks_make_way_for_those_with_a_constraint():
    offers = [on("a", 2), on("b", 2), on("c", 2)]
    wanted = [*servers(3).tasks, *workers(3, constraints=["hostname:UNIQUE"]).tasks]
    assert place(wanted, offers).unplaced == []


def test_small_tasks_with_a_constraint_make_way_for_large_ones():
    offers = [on("big", 8), on("small", 1)]
    wanted = [*workers(1, constraints=["hostname:UNIQUE"]).tasks, *servers(1, cpus=8).tasks]
    assert place(wanted, offers).unplaced == []


def test_the_job_with_fewer_choices_goes_first():
    wanted = [
        *workers(1, constraints=["hostname:LIKE:a|b"]).tasks,
        *servers(1, constraints=["hostname:IS:a"]).tasks,
    ]
    assert where(place(wanted, [on("a"), on("b")])) == {"a": ["ps:0"], "b": ["worker:0"]}


def test_tasks_with_a_constraint_leave_gpus_alone_too():
    offers = [an_offer("gpu", gpus=1), an_offer("cpu")]
    result = place(workers(1, constraints=["hostname:UNIQUE"]).tasks, offers)
    assert [p.agent_id for p in result.loads] == ["agent-of-cpu"]


def test_an_offer_that_meets_no_constraint_is_useless():
    job = workers(2, constraints=["rack:IS:r1", "hostname:UNIQUE"])
    sieve = Sieve(job.tasks)
    assert sieve.useless(on("a", rack="r1")) == ""
    assert sieve.useless(on("a", rack="r2")) == "not for worker:0: rack:IS:r1"
    assert sieve.useless(on("a")) == "not for worker:0: rack:IS:r1"
    sieve = Sieve(job.tasks[1:], [(job.tasks[0], Node("a", {"rack": "r1"}))])
    assert sieve.useless(on("a", rack="r1")) == "not for worker:1: hostname:UNIQUE"
    assert sieve.useless(on("b", rack="r1")) == ""


def test_a_few_of_ten_thousand_tasks_find_a_place_beside_the_others():
    job = workers(10_000, constraints=["hostname:UNIQUE"])
    seated = [(task, Node(f"h{i}")) for i, task in enumerate(job.tasks[:9_999])]
    offers = [on(f"h{i}") for i in range(10_000)]
    sieve = Sieve(job.tasks[9_999:], seated)
    assert [offer.hostname for offer in offers if not sieve.useless(offer)] == ["h9999"]
    assert where(place(job.tasks[9_999:], offers, seated)) == {"h9999": ["worker:9999"]}


@pytest.mark.parametrize(
    "constraints",
    [["hostname:UNIQUE"], ["rack:GROUP_BY:100", "hostname:MAX_PER:1"], ["rack:CLUSTER"]],
)
def test_ten_thousand_tasks_find_ten_thousand_agents_under_constraints(constraints):
    wanted = workers(10_000, cpus=1, constraints=constraints).tasks
    racks = 1 if constraints == ["rack:CLUSTER"] else 100
    offers = [on(f"h{i}", 1, rack=f"r{i % racks}") for i in range(10_000)]
    assert place(wanted, offers).placed == 10_000


def broken(constraint, nodes, tasks):
    """Do tasks of a job on these nodes break the constraint? Written down anew, and slowly."""
    values = [node.value(constraint.field) for node in nodes]
    counts = Counter(values)
    match constraint.operator:
        case "UNIQUE":
            return None in values or max(counts.values(), default=0) > 1
        case "MAX_PER":
            return None in values or max(counts.values(), default=0) > int(constraint.value)
        case "CLUSTER":
            wanted = constraint.value or next(iter(values), None)
            return any(value is None or value != wanted for value in values)
        case "GROUP_BY":
            groups = int(constraint.value or 1)
            most = -(-tasks // groups) if constraint.value else tasks
            too_few = len(nodes) == tasks and len(counts) < min(groups, tasks)
            return None in values or max(counts.values(), default=0) > most or too_few
    return not all(constraint.admits(node) for node in nodes)


def nodes_of(placement, job):
    return [p.node for p in placement.loads for s in p.seats if s.task.job.name == job.name]


@given(st.integers(0, 6), some_constraints, some_constraints, clusters())
def test_no_placement_ever_breaks_a_constraint(count, mine, theirs, offers):
    jobs = [workers(count, constraints=mine), servers(2, constraints=theirs)]
    result = place([task for job in jobs for task in job.tasks], offers)
    for job in jobs:
        nodes = nodes_of(result, job)
        assert not [c for c in job.constraints if broken(c, nodes, job.num)]


@given(st.integers(0, 6), some_constraints, clusters())
def test_under_constraints_nothing_is_lost_or_used_twice(count, constraints, offers):
    wanted = [*workers(count, constraints=constraints).tasks, *servers(1).tasks]
    result = place(wanted, offers)
    kept = [offer.id for p in result.loads for offer in p.offers]
    assert sorted([*kept, *(o.id for o in result.unused)]) == sorted(o.id for o in offers)
    seated = [seat.task.name for p in result.loads for seat in p.seats]
    assert sorted([*seated, *(t.name for t in result.unplaced)]) == sorted(t.name for t in wanted)
    for p in result.loads:
        offered = amounts_of(entry.json for offer in p.offers for entry in offer.entries)
        taken = amounts_of(part for seat in p.seats for part in seat.resources)
        assert all(taken[key] <= offered[key] for key in taken)


@given(st.integers(1, 4), some_constraints, clusters(most=4))
def test_a_job_has_places_whenever_trying_everything_finds_them(count, constraints, offers):
    job = workers(count, constraints=constraints)
    result = place(job.tasks, offers)
    assert (not result.unplaced) == exists(job, offers)


def exists(job, offers):
    rooms = {offer.hostname: offer.total.cpus // 1000 for offer in offers}
    for choice in product(offers, repeat=job.num):
        used = Counter(offer.hostname for offer in choice)
        nodes = [offer.node for offer in choice]
        fits = all(used[host] <= rooms[host] for host in used)
        if fits and not [c for c in job.constraints if broken(c, nodes, job.num)]:
            return True
    return False


@given(st.integers(1, 8), clusters())
def test_group_by_is_as_even_as_the_room_allows(count, offers):
    job = Job("worker", count, constraints=["rack:GROUP_BY"])
    result = place(job.tasks, offers)
    counts = Counter(node.value("rack") for node in nodes_of(result, job))
    rooms = Counter()
    for offer in offers:
        rooms[offer.node.value("rack")] += offer.total.cpus // 1000
    with_room = [counts[rack] for rack in rooms if rack and counts[rack] < rooms[rack]]
    assert max(counts.values(), default=0) - min(with_room, default=count) <= 1


@given(st.integers(2, 5), some_constraints, clusters(), st.data())
def test_a_relaunched_task_never_breaks_a_constraint(count, constraints, offers, data):
    job = workers(count, constraints=constraints)
    first = place(job.tasks, offers)
    at = {s.task: p.node for p in first.loads for s in p.seats}
    if first.unplaced:
        return
    lost = data.draw(st.sampled_from(job.tasks))
    seated = [(task, node) for task, node in at.items() if task != lost]
    again = place([lost], [on(f"h{i}", 2, rack=f"r{1 + i % 3}") for i in range(5)], seated)
    nodes = [*(node for _, node in seated), *nodes_of(again, job)]
    assert not [c for c in job.constraints if broken(c, nodes, count)]
