from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.engines.mesos.offers import amounts_of, an_offer, ports, scalar
from tests.sentences import names
from tfmesos.config.job import Job, Resources
from tfmesos.engines.mesos.offers import Offer
from tfmesos.engines.mesos.placement import Sieve, place

amounts = st.integers(0, 40).map(lambda n: n / 10)


@st.composite
def offers(draw):
    """A cluster's offers: several per agent, reserved entries among them, ports or none."""
    found = []
    for i in range(draw(st.integers(0, 6))):
        more = [scalar("cpus", draw(amounts), role="ml"), scalar("mem", draw(amounts), role="ml")]
        if draw(st.booleans()):
            more.append(ports((31000 + 10 * i, 31000 + 10 * i + draw(st.integers(0, 3)))))
        agent = f"agent-{draw(st.integers(0, 3))}"
        mem, gpus = draw(amounts) * 40, draw(st.integers(0, 2))
        found.append(an_offer(f"o{i}", agent, cpus=draw(amounts), mem=mem, gpus=gpus, more=more))
    return found


@st.composite
def tasks(draw):
    jobs = [
        Job(
            name,
            draw(st.integers(0, 5)),
            cpus=draw(st.integers(1, 20)) / 10,
            mem=draw(st.integers(32, 80)),
            gpus=draw(st.integers(0, 1)),
        )
        for name in ("ps", "worker")
    ]
    return [task for job in jobs for task in job.tasks]


@given(tasks(), offers())
def test_no_seat_takes_more_than_its_agent_offered_not_even_of_one_entry(wanted, given_offers):
    for found in place(wanted, given_offers).loads:
        offered = amounts_of(entry.json for offer in found.offers for entry in offer.entries)
        taken = amounts_of(part for seat in found.seats for part in seat.resources)
        assert all(taken[key] <= offered[key] for key in taken)


@given(tasks(), offers())
def test_every_seat_has_exactly_what_its_task_needs(wanted, given_offers):
    for found in place(wanted, given_offers).loads:
        for seat in found.seats:
            sums = Counter()
            for part in seat.resources:
                if "scalar" in part:
                    sums[part["name"]] += round(part["scalar"]["value"] * 1000)
            assert Resources(sums["cpus"], sums["mem"], sums["gpus"]) == seat.task.job.needs


@given(tasks(), offers())
def test_no_offer_and_no_task_is_ever_lost(wanted, given_offers):
    result = place(wanted, given_offers)
    kept = [offer for found in result.loads for offer in found.offers]
    assert sorted(o.id for o in [*kept, *result.unused]) == sorted(o.id for o in given_offers)
    seated = [seat.task for found in result.loads for seat in found.seats]
    assert sorted(t.name for t in [*seated, *result.unplaced]) == sorted(t.name for t in wanted)


@given(tasks(), offers())
def test_a_task_is_left_out_only_when_no_agent_has_room_for_it(wanted, given_offers):
    result = place(wanted, given_offers)
    free = {}
    for offer in given_offers:
        free[offer.agent_id] = Resources.sum([free.get(offer.agent_id, Resources()), offer.total])
    with_ports = {o.agent_id for o in given_offers for e in o.entries if e.name == "ports"}
    for found in result.loads:
        for seat in found.seats:
            free[found.agent_id] = free[found.agent_id].minus(seat.task.job.needs)
    for task in result.unplaced:
        for agent, left in free.items():
            assert left.shortage(task.job.needs) or agent in with_ports


def test_cpu_tasks_leave_the_gpu_agent_to_those_who_need_it():
    wanted = [*workers(1, gpus=1).tasks, *servers(2).tasks]
    result = place(wanted, [an_offer("gpu", gpus=1), an_offer("cpu")])
    seats = {f.agent_id: [s.task.name for s in f.seats] for f in result.loads}
    assert seats == {"agent-of-gpu": ["worker:0"], "agent-of-cpu": ["ps:0", "ps:1"]}


def test_cpu_tasks_use_the_gpu_agent_when_nothing_else_is_free():
    result = place(servers(1).tasks, [an_offer("gpu", gpus=1)])
    assert result.placed == 1


def test_gpus_that_have_names_are_handed_out_one_by_one():
    named = {"name": "gpus", "type": "SET", "set": {"item": ["a", "b", "c"]}, "role": "*"}
    result = place(workers(2, gpus=2).tasks, [an_offer(more=[named])])
    (found,) = result.loads
    assert [seat.gpu_ids for seat in found.seats] == [("a", "b")]
    assert [task.name for task in result.unplaced] == ["worker:1"]
    (found,) = place(workers(3, gpus=1).tasks, [an_offer(more=[named])]).loads
    assert [seat.gpu_ids for seat in found.seats] == [("a",), ("b",), ("c",)]


def test_cpu_tasks_leave_an_agent_whose_gpus_have_names_to_others_too():
    named = {"name": "gpus", "type": "SET", "set": {"item": ["a"]}, "role": "*"}
    result = place(servers(1).tasks, [an_offer("gpu", more=[named]), an_offer("cpu")])
    assert [found.agent_id for found in result.loads] == ["agent-of-cpu"]


def test_several_offers_of_one_agent_are_used_together():
    small = [an_offer("o1", "a", cpus=1), an_offer("o2", "a", cpus=1)]
    (found,) = place(workers(1, cpus=2).tasks, small).loads
    assert [offer.id for offer in found.offers] == ["o1", "o2"]


def test_ports_of_the_offer_are_handed_out_one_each_until_they_are_used_up():
    offer = an_offer(more=[ports((31000, 31000), (31005, 31005))])
    result = place(workers(3).tasks, [offer])
    assert [seat.port for found in result.loads for seat in found.seats] == [31000, 31005]
    assert [task.name for task in result.unplaced] == ["worker:2"]


def test_an_offer_without_ports_leaves_the_port_to_the_runner():
    (found,) = place(workers(1).tasks, [an_offer()]).loads
    assert found.seats[0].port is None


def test_reserved_resources_are_taken_first_and_keep_their_role():
    offer = an_offer(cpus=1, more=[scalar("cpus", 0.5, role="ml")])
    (found,) = place(workers(1, cpus=1).tasks, [offer]).loads
    cpus = [
        (r["role"], r["scalar"]["value"]) for r in found.seats[0].resources if r["name"] == "cpus"
    ]
    assert cpus == [("ml", 0.5), ("*", 0.5)]


def test_disk_is_taken_when_it_is_asked_for():
    offer = an_offer(more=[scalar("disk", 100)])
    assert place(workers(1, disk=200).tasks, [offer]).placed == 0
    (found,) = place(workers(1, disk=60).tasks, [offer]).loads
    assert scalar("disk", 60.0) in found.seats[0].resources


def test_revocable_resources_are_not_counted():
    offer = an_offer(cpus=1, more=[{**scalar("cpus", 8), "revocable": {}}])
    assert offer.total.cpus == 1000


def test_a_useless_offer_can_say_why():
    text = "too small for worker:0: gpus 0 < 1"
    assert Sieve(workers(1, gpus=1).tasks).useless(an_offer()) == text
    assert Sieve([]).useless(an_offer()) == "no task is waiting"
    assert Sieve(workers(1).tasks).useless(an_offer()) == ""


def test_attributes_of_every_type_become_text():
    offer = Offer.from_json(
        {
            "id": {"value": "o"},
            "agent_id": {"value": "a"},
            "attributes": [
                {"name": "rack", "type": "TEXT", "text": {"value": "r1"}},
                {"name": "weight", "type": "SCALAR", "scalar": {"value": 2.5}},
                {"name": "since", "type": "SCALAR", "scalar": {"value": 20261116.0}},
                {
                    "name": "slots",
                    "type": "RANGES",
                    "ranges": {"range": [{"begin": 1, "end": 3}, {"begin": 7, "end": 9}]},
                },
                {"name": "kinds", "type": "SET", "set": {"item": ["a", "b"]}},
            ],
        }
    )
    assert offer.attributes == {
        "rack": "r1",
        "weight": "2.5",
        "since": "20261116",
        "slots": "[1-3,7-9]",
        "kinds": "{a,b}",
    }


def test_ten_thousand_tasks_find_ten_thousand_agents_in_one_pass():
    wanted = workers(10_000, cpus=4).tasks
    result = place(wanted, [an_offer(f"o{i}") for i in range(10_000)])
    assert result.placed == 10_000


RANGE = ports((31000, 31003))


def seats(jobs, *offers):
    loads = place([task for job in jobs for task in job.tasks], offers).loads
    return {seat.task.name: seat for load in loads for seat in load.seats}


def test_the_port_that_a_task_wants_is_taken_from_the_offer_and_others_keep_off():
    found = seats([workers(1, port=31001), servers(3)], an_offer(more=[RANGE]))
    assert {name: seat.port for name, seat in found.items()} == {
        "worker:0": 31001,
        "ps:0": 31000,
        "ps:1": 31002,
        "ps:2": 31003,
    }
    part = next(part for part in found["worker:0"].resources if part["name"] == "ports")
    assert part["ranges"] == {"range": [{"begin": 31001, "end": 31001}]}


def test_a_wanted_port_that_is_not_there_gives_way_and_that_is_said():
    found = seats([workers(2, port=31001)], an_offer(more=[RANGE]))
    assert {seat.port for seat in found.values()} == {31001, 31000}
    (said,) = [seat.other_port for seat in found.values() if seat.other_port]
    assert names(said, "worker:1", "31000", "31001")
    assert seats([workers(1, port=2222)], an_offer(more=[RANGE]))["worker:0"].port == 31000


def test_a_port_that_is_insisted_on_is_had_once_on_a_node_or_not_at_all():
    job = workers(2, port="=31001")
    assert len(seats([job], an_offer(more=[RANGE]))) == 1
    assert len(seats([job], an_offer("o1", more=[RANGE]), an_offer("o2", more=[RANGE]))) == 2
    assert len(seats([job], an_offer())) == 1  # it offers no ports at all
    assert seats([workers(1, port="=2222")], an_offer(more=[RANGE])) == {}
    assert len(seats([workers(2, port="=31001", constraints=["hostname:LIKE:.*"])],
                     an_offer(more=[RANGE]))) == 1  # fmt: skip


def test_whoever_insists_on_a_port_goes_before_who_would_take_any():
    found = seats([workers(1, gpus=1), servers(1, port="=31000")], an_offer(gpus=1, more=[RANGE]))
    assert (found["ps:0"].port, found["worker:0"].port) == (31000, 31001)


def test_an_offer_without_the_port_is_useless_and_the_log_can_say_why():
    sieve = Sieve(workers(1, port="=2222").tasks)
    assert sieve.useless(an_offer(more=[RANGE])) == "too small for worker:0: no port 2222"
    assert sieve.useless(an_offer()) == ""


def test_a_port_that_is_offered_twice_breaks_nothing():
    twice = an_offer(more=[ports((31000, 31000)), ports((31000, 31000))])
    assert len(seats([workers(2)], twice)) == 2
