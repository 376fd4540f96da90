"""The old address of a task that is started again."""

from tests.builders import an_offer, ports, workers
from tfmesos.engines.mesos import old_address


def test_a_home_is_found_where_agents_offer_no_ports_too():
    (task,) = workers(1).tasks
    place = old_address.find(task, "agent-of-o1", 4000, [an_offer("o1")])
    assert place.seats[0].port == 4000


def test_a_home_whose_port_is_taken_is_not_found():
    (task,) = workers(1).tasks
    offer = an_offer("o1", more=[ports((31000, 31001))])
    assert old_address.find(task, "agent-of-o1", 31002, [offer]) is None
