"""The objects of a run, as the genuine server takes them: no field is refused or dropped."""

from __future__ import annotations

import pytest

from tests.builders import workers
from tests.engines.kubernetes.test_objects import config, pod
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes import objects
from tfmesos.engines.kubernetes.objects import Owner

EVERYTHING = {
    "volumes": ["/data:/data:ro"],
    "claims": ["models:/models"],
    "shm": "1G",
    "user": "1000:100",
}
CONSTRAINTS = (
    *("hostname:UNIQUE", "rack:CLUSTER", "zone:GROUP_BY", "hostname:MAX_PER:1", "rack:IS:r1"),
    *("rack:LIKE:r1|r2", "rack:UNLIKE:.*"),
)


AMOUNTS = ("cpu", "memory", "ephemeral-storage", "sizeLimit")  # which it writes in its own way


def dropped(sent, got, name=""):
    """What *got* lacks of *sent*."""
    if isinstance(sent, dict) and isinstance(got, dict):
        pairs = [(key, sent[key], got.get(key)) for key in sent]
        return [found for key, *both in pairs for found in dropped(*both, f"{name}.{key}")]
    if isinstance(sent, list) and isinstance(got, list) and len(sent) == len(got):
        return [found for both in zip(sent, got, strict=True) for found in dropped(*both, name)]
    same = sent == got or (sent is False and got is None)
    return [] if same or (got and name.endswith(AMOUNTS)) else [name]


@pytest.mark.parametrize(
    "job, settings",
    [
        (workers(1), {}),
        (workers(1, cpus=1.5, mem=2048, gpus=1, disk=100), EVERYTHING),
        *((workers(1, constraints=[constraint]), {}) for constraint in CONSTRAINTS),
    ],
)
def test_no_field_of_a_pod_is_dropped(kube, job, settings):
    made = pod(config(job, **settings), avoid=["node-3"])
    answer = kube.user.post(f"{kube.path}/pods?dryRun=All", made)
    assert dropped(made, answer) == []


def test_a_secret_cannot_be_changed_and_goes_with_its_owner(kube):
    made = config()
    named = kube.user.post(f"{kube.path}/configmaps", objects.owner(made, "tfmesos-abcd", "here"))
    owner = Owner("tfmesos-abcd", named["metadata"]["uid"])
    body = objects.secret(made, owner, "tfmesos-abcd-1", "stub", {"worker-0": Secret("hush")})
    kube.user.post(f"{kube.path}/secrets", body)
    found = kube.admin.get(f"{kube.path}/secrets/tfmesos-abcd-1")
    assert found["immutable"] is True and sorted(found["data"]) == ["stub", "worker-0"]
    kube.user.delete(f"{kube.path}/configmaps/tfmesos-abcd")  # the fixture sees to the rest
