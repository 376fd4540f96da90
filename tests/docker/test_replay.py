"""The recordings of containers on a genuine Mesos 1.11.0, played to the embedded one.

What they ran in, busybox:latest, is our base image here; /srv/mesos-volume is made for them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mesos.embedded.tests.player import Scenario, play

VOLUME = Path("/srv/mesos-volume")


@pytest.fixture
def volume():
    VOLUME.mkdir()
    (VOLUME / "in.txt").write_text("hello\n")
    yield
    shutil.rmtree(VOLUME)


@pytest.mark.parametrize(
    "scenario",
    [
        # Left out: a volume without an image, which the embedded agent refuses, and the words
        # on an image that is not supported: the recorded agent took its images from tar files.
        Scenario(
            "17a-container-mesos",
            ignored_tasks=frozenset({"noimage-vol", "noimage"}),
            commands={"ro-write": "echo x > /data/x || exit 1"},  # our shell says 2
        ),
        # Left out: the output of docker inspect; the words of ``docker pull``; and that a bad
        # parameter ends a task that has started, with 125: ours says why, and starts none.
        Scenario(
            "17b-container-docker",
            ignored_tasks=frozenset({"docker-bad-param", "docker-no-image"}),
            ignored_fields=frozenset({"data"}),
            grace_scale=5.0,
        ),
    ],
    ids=lambda scenario: scenario.name,
)
def test_the_embedded_mesos_runs_containers_as_the_genuine_one_did(docker, volume, scenario):
    play(scenario)
