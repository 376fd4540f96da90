"""Events that can happen to a run, for tests that try them in any order."""

from hypothesis import strategies as st

from tests.builders import an_offer, workers
from tests.replay import only
from tfmesos.core import events as happened
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos


def launched(run):
    """The ids of the tasks of this run, all placed and launched."""
    run.subscribe()
    (launch,) = only(calls.Launch, run.offer(an_offer("o1", cpus=64, mem=1e6)))
    return tuple(task_id for task_id, _ in launch.seats)


IDS = [
    f"run-{job}-{index}-{attempt}"
    for job in ("worker", "ps")
    for index in (0, 1)
    for attempt in (1, 2, 3)
]


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


ids = st.sampled_from([*IDS, "somebody-else"])


any_event = st.one_of(
    st.just(mesos.Subscribed("f", "m")),
    st.just(mesos.Disconnected("reset")),
    st.lists(st.sampled_from(OFFERS), max_size=3).map(
        lambda offers: mesos.OffersReceived(tuple(offers))
    ),
    st.sampled_from(["o1", "o2"]).map(mesos.OfferRescinded),
    st.builds(mesos.TaskUpdated, ids, st.sampled_from(STATES)),
    st.just(mesos.InverseOffersReceived(("i",), ("agent-of-o1",))),
    st.builds(mesos.AgentLost, st.sampled_from(["agent-of-o1", "x"])),
    st.builds(happened.TaskRegistered, ids, st.just("h"), st.just(1)),
    st.builds(happened.TaskReady, ids),
    st.builds(happened.TaskExited, ids, st.sampled_from([0, 0, 1, 137]), st.just("ended")),
    st.builds(happened.RunnerLost, ids, st.just("reset")),
    st.just(happened.StopRequested("stop", 130)),
    st.builds(happened.NoticeGiven, st.just("notice"), st.booleans(), st.booleans()),
    st.builds(happened.NodeDrained, ids, is_notice=st.booleans()),
    st.builds(happened.TasksLeftOut, st.lists(ids, max_size=2).map(tuple), st.just("no room")),
    st.sampled_from([1, 3, "1:2"]).map(
        lambda n: happened.UpdateRequested((workers(n),), ("so",))
    ),
    st.just(happened.Ticked()),
)  # fmt: skip
