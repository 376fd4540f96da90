"""A run on Kubernetes is decided once more from what is written down of it."""

import json

import pytest

from tests.builders import workers
from tests.engines.kubernetes.runs import recorded
from tfmesos.config.job import Resources
from tfmesos.core.actions import Place, Wanted
from tfmesos.core.events import Ticked
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes.actions import CreatePods
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.engine import KubernetesEngine
from tfmesos.engines.kubernetes.pod_status import PodSeen
from tfmesos.errors import EngineError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.deciders import Beginning
from tfmesos.runs.event_json import from_json, to_json

LAST_OF_LIFE = [pod for _, pod, _ in recorded("pod-life")][-1]


def written_and_read(value):
    return from_json(json.loads(json.dumps(to_json(value))))


@pytest.mark.parametrize(
    "event",
    [
        happened.Connected("https://api", "team"),
        happened.PodChanged(LAST_OF_LIFE),
        happened.PodsListed((LAST_OF_LIFE,)),
        happened.PodGone("worker-0"),
        happened.NodesCounted((happened.NodeRoom("a", Resources.of(2, 4096)),)),
        happened.NodesCounted(None),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_is_the_same_after_it_was_written(event):
    assert written_and_read(event) == event


def test_a_refusal_keeps_its_words_and_its_code():
    error = ApiError(403, "Forbidden", "exceeded quota: few")
    read = written_and_read(happened.PodsRefused(error, is_quota=True)).error
    assert isinstance(read, EngineError)
    assert (str(read), read.exit_code) == ("exceeded quota: few", 75)


def test_the_beginning_of_a_run_has_the_engine_and_its_rules():
    config = make_config([workers(2)], master="k8s://", image="me/train", gang_hold=7)
    beginning = written_and_read(Beginning.of(config, "run", 1.0, None, 3))
    engine = beginning.engine()
    assert isinstance(engine, KubernetesEngine)
    wanted = tuple(Wanted(f"run-{task.name}", task) for task in config.tasks)
    (create,) = engine.handle(Place(wanted), 1.0)
    assert isinstance(create, CreatePods) and engine.deadline is not None
    engine.handle(happened.PodChanged(PodSeen("worker-0", node="node-1")), 2.0)
    released = [out for at in (2.0, 9.1) for out in engine.handle(Ticked(), at)]
    assert "left to others" in str(released)
