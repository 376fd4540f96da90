"""The previous place of a task that is started again."""

from tests.builders import an_offer, ports, workers
from tfmesos.core.actions import PreviousPlace
from tfmesos.engines.mesos import previous_place


def test_a_previous_place_is_found_where_agents_offer_no_ports_too():
    (task,) = workers(1).tasks
    place = previous_place.find(task, PreviousPlace("agent-of-o1", 4000, 9.0), [an_offer("o1")])
    assert place.seats[0].port == 4000


def test_a_previous_place_whose_port_is_taken_is_not_found():
    (task,) = workers(1).tasks
    offer = an_offer("o1", more=[ports((31000, 31001))])
    assert previous_place.find(task, PreviousPlace("agent-of-o1", 31002, 9.0), [offer]) is None
