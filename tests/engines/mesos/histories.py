"""Events that can happen to a run on Mesos, for tests that try them in any order."""

from hypothesis import strategies as st

from tests.core.histories import ids, of_any_engine
from tests.replay import only
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.offers import InverseOffer

from .offers import an_offer


def launched(run):
    """The ids of the tasks of this run, all placed and launched."""
    run.subscribe()
    (launch,) = only(calls.Launch, run.offer(an_offer("o1", cpus=64, mem=1e6)))
    return tuple(task_id for task_id, _ in launch.seats)


STATES = [
    "TASK_STAGING",
    "TASK_STARTING",
    "TASK_RUNNING",
    "TASK_FINISHED",
    "TASK_FAILED",
    "TASK_KILLED",
    "TASK_KILLING",
    "TASK_ERROR",
    "TASK_LOST",
    "TASK_DROPPED",
    "TASK_UNREACHABLE",
    "TASK_GONE",
    "TASK_GONE_BY_OPERATOR",
    "TASK_UNKNOWN",
    "TASK_OF_THE_FUTURE",
]


OFFERS = [an_offer("o1"), an_offer("o2"), an_offer("o3", cpus=0.1)]


any_event = st.one_of(
    of_any_engine,
    st.just(mesos.Subscribed("f", "m")),
    st.just(mesos.Disconnected("reset")),
    st.lists(st.sampled_from(OFFERS), max_size=3).map(
        lambda offers: mesos.OffersReceived(tuple(offers))
    ),
    st.sampled_from(["o1", "o2"]).map(mesos.OfferRescinded),
    st.builds(mesos.TaskUpdated, ids, st.sampled_from(STATES)),
    st.just(mesos.InverseOffersReceived((InverseOffer("i", "agent-of-o1", 60.0),))),
    st.builds(mesos.AgentLost, st.sampled_from(["agent-of-o1", "x"])),
)
