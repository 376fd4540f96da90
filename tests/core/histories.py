"""Events that can happen to a run, for tests that try them in any order."""

from hypothesis import strategies as st

from tests.builders import servers, workers
from tfmesos.core import events as happened
from tfmesos.engines.local import events as local

IDS = [
    f"run-{job}-{index}-{attempt}"
    for job in ("worker", "ps")
    for index in (0, 1)
    for attempt in (1, 2, 3)
]


ids = st.sampled_from([*IDS, "somebody-else"])


codes = st.sampled_from([0, 0, 1, 137])


# Told by runners, owners and the clock, whatever the engine is.
of_any_engine = st.one_of(
    st.builds(happened.TaskRegistered, ids, st.just("h"), st.just(1)),
    st.builds(happened.TaskReady, ids),
    st.builds(happened.TaskExited, ids, codes, st.just("ended")),
    st.builds(happened.RunnerOutOfTouch, ids),
    st.builds(happened.RunnerBack, ids),
    st.builds(happened.RunnerLost, ids, st.just("reset")),
    st.just(happened.StopRequested("stop", 130)),
    st.builds(happened.NoticeGiven, st.just("notice"), st.booleans(), st.booleans()),
    st.builds(happened.NodeDrained, ids, is_notice=st.booleans()),
    st.builds(happened.TasksLeftOut, st.lists(ids, max_size=2).map(tuple), st.just("no room")),
    st.sampled_from([1, 3, "1:2"]).map(
        lambda n: happened.UpdateRequested((workers(n),), ("so",))
    ),
    st.builds(
        lambda **settings: happened.UpdateRequested(
            (workers(2, **settings), servers(2)), ("so",), is_rolling=True
        ),
        mem=st.sampled_from([512.0, 2048.0]),
        gpus=st.sampled_from([0, 1]),
    ),
    st.just(happened.Ticked()),
)  # fmt: skip


# Of an engine that may lose sight of its nodes, and on which GPUs may be missing.
any_event = st.one_of(
    of_any_engine,
    st.just(local.MachineFound("here")),
    st.just(local.GpusTaken(("0", "1"))),
    st.just(local.GpusHeld(1, ("another run",))),
    st.builds(local.TaskStarted, ids),
    st.builds(local.TaskGone, ids, codes, st.just("ended"), st.booleans(), st.booleans()),
    st.builds(happened.TaskUnreachable, ids),
    st.builds(happened.NodeLost, st.tuples(ids)),
    st.builds(happened.NodeWanted, st.tuples(ids), st.just(60.0)),
    st.just(happened.EngineTrouble("out of order")),
    st.just(happened.EngineReady()),
)


histories = st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=60)
