"""Containers without a command: the entry point of their image runs, as it does in a pod."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.commands import tfrun
from tests.jobfiles.tfjob.tfjobs import replica, tf_job
from tests.sentences import names

IMAGE = "tfmesos-tests/entry"


@pytest.fixture
def image(docker, base):
    """An image whose entry point prints where it is and its arguments."""
    script = ["/bin/sh", "-c", "echo $(pwd): $*", "entry"]
    text = f'FROM {base}\nWORKDIR /opt\nENTRYPOINT {json.dumps(script)}\nCMD ["its own"]\n'
    docker("build", "--quiet", "--tag", IMAGE, "-", input=text)
    yield IMAGE
    docker("rmi", "--force", IMAGE)


@pytest.mark.parametrize(
    "container, words",
    [
        ({}, "/opt: its own"),
        ({"args": ["--a", "b c"]}, "/opt: --a b c"),
        ({"workingDir": "/usr"}, "/usr: its own"),
        ({"command": ["echo", "mine"]}, "mine"),
    ],
)
def test_a_tf_job_runs_the_entry_point_of_its_image(image, tmp_path, container, words):
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tf_job(replica("MASTER", **{"image": image, **container}))))
    done = tfrun(file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[master:0] {words}"]


def test_an_image_that_is_not_on_this_machine_is_named(docker, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(tf_job(replica("MASTER", image="tfmesos-tests/none"))))
    done = tfrun(file)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert names(done.stderr, "Docker", "entry point", "tfmesos-tests/none: ", "No such image")
