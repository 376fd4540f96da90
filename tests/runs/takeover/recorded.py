"""A record as the launcher of a run on Mesos leaves it, without the run."""

from __future__ import annotations

from tests.builders import workers
from tests.engines.mesos.offers import an_offer
from tfmesos.core import events as happened
from tfmesos.engines.mesos import events as mesos
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.deciders import Beginning, Deciders
from tfmesos.runs.event_json import json_line, to_json

CONFIG = make_config(workers(2), master="mesos:5050")


def record_of_a_run() -> bytes:
    """The events of two tasks until their commands run."""
    beginning = Beginning.of(CONFIG, "abcd", 1.0, None, 7)
    lifecycle = beginning.lifecycle()
    lines = [{"at": 1.0, "beginning": to_json(beginning)}]

    def tell(event, now):
        lines.append({"at": now, "told": to_json(event)})

    deciders = Deciders(lifecycle, beginning.engine(), tell)
    ids = [member.task_id for member in lifecycle.members]
    history = (
        mesos.Subscribed("f-1", "m:5050"),
        mesos.OffersReceived((an_offer(cpus=64, mem=1e6),)),
        *(mesos.TaskUpdated(one, "TASK_RUNNING", "", "") for one in ids),
        *(happened.TaskRegistered(one, "10.0.0.1:4000", 4000 + n) for n, one in enumerate(ids)),
        *(happened.TaskReady(one) for one in ids),
    )
    for now, event in enumerate(history, 2):
        lines.append({"at": float(now), "event": to_json(event)})
        deciders.handle(event, float(now))
    return b"".join(map(json_line, lines))
