"""What -v tells of Mesos."""

from tests.builders import workers
from tests.replay import only
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.story import MesosStory

from .offers import an_offer
from .run import Run


def test_offers_are_told_of_by_their_hosts_once_until_something_is_launched():
    story, run = MesosStory(), Run(workers(1))
    offers = mesos.OffersReceived((an_offer("o2"), an_offer("o1")))
    assert story.news(offers) == "offers of host-of-o1, host-of-o2"
    assert story.news(offers) == ""
    run.subscribe()
    (launch,) = only(calls.Launch, run.offer())
    assert story.launched(launch) == {"run-worker-0-1": "worker:0"}
    assert "host-of-o1" in story.news(offers)


def test_an_end_is_told_with_its_state_and_nothing_else_is_an_end():
    story = MesosStory()
    task_id, words = story.ended(mesos.TaskUpdated("run-worker-0-1", "TASK_LOST"))
    assert task_id == "run-worker-0-1" and "TASK_LOST" in words
    assert story.ended(mesos.TaskUpdated("run-worker-0-1", "TASK_RUNNING")) is None
    assert story.ended(mesos.Disconnected("reset")) is None
