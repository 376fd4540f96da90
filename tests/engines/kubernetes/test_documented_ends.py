"""docs/failures.rst says which ends of pods come from outside."""

from pathlib import Path

from tests.builders import workers
from tfmesos.engines.kubernetes import pod_ends
from tfmesos.engines.kubernetes.pod_status import PodSeen

DOCUMENTED = Path(__file__).parents[3].joinpath("docs/failures.rst").read_text()


def documented(label):
    """The names in a row of the table of pods."""
    table = DOCUMENTED.partition("On Kubernetes, the condition")[2].partition("An engine may")[0]
    found, current = set(), ""
    for line in table.splitlines():
        current = line[:17].strip() or current
        found |= set(line[19:].split("``")[1::2]) if current == label else set()
    return found


def test_every_reason_of_a_pod_that_we_know_is_documented():
    known = {*pod_ends._DISRUPTIONS, *pod_ends._REASONS, "OutOfcpu"}
    assert documented("from outside") == known


def is_lost(**status):
    """Whether the end of such a pod comes from outside."""
    (task,) = workers(1).tasks
    pod = PodSeen(**{"name": "p", "phase": "Failed", **status})
    return pod_ends.ending("t", task, pod, False).is_lost


def test_what_is_documented_is_what_is_decided():
    for name in documented("from outside") - set(pod_ends._DISRUPTIONS):
        assert is_lost(reason=name), name
    for name in pod_ends._DISRUPTIONS:
        assert is_lost(disruption=name), name
    for name in documented("the command's own"):
        assert not is_lost(reason=name, code=1), name
