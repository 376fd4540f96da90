"""In a container the launcher's directory is one that is mounted, not one of the same name."""

from __future__ import annotations

import pytest

from tests.builders import servers, workers
from tfmesos.config.kubernetes_settings import PodSettings, parse_claims
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.config.volumes import parse_volumes

HERE = "/home/me/mnist"


def template(*mounts):
    return {"spec": {"containers": [{"volumeMounts": [{"mountPath": one} for one in mounts]}]}}


def directory(job=None, **settings):
    """Where the command of a job in an image runs."""
    settings = {"image": "me/train", "cwd": HERE, "master": "k8s://", **settings}
    job = job or workers(1)
    return LaunchConfig((job,), **settings).directory_of(job)


@pytest.mark.parametrize("place", [HERE, f"{HERE}/", "/home/me", "/home", "/"])
def test_a_volume_that_holds_it_makes_it_the_directory_of_the_command(place):
    assert directory(volumes=parse_volumes([f"/data:{place}"])) == HERE
    assert directory(pods=PodSettings(claims=parse_claims([f"work:{place}"]))) == HERE
    assert directory(pods=PodSettings(pod_template=template("/x", place))) == HERE
    assert directory(workers(1, pod_template=template(place))) == HERE


@pytest.mark.parametrize("place", [f"{HERE}/deep", "/home/me/mni", "/data", "/home/you"])
def test_any_other_volume_does_not(place):
    assert directory(volumes=parse_volumes([f"{HERE}:{place}"])) is None
    assert directory(pods=PodSettings(claims=parse_claims([f"work:{place}"]))) is None
    assert directory(pods=PodSettings(pod_template=template(place))) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"spec": None},
        {"spec": {"containers": {}}},
        {"spec": {"containers": [None, {"volumeMounts": [None, {"mountPath": 7}]}]}},
    ],
)
def test_a_template_of_another_form_mounts_nothing(wrong):
    assert directory(pods=PodSettings(pod_template=wrong)) is None


def test_a_directory_that_was_asked_for_need_not_be_mounted():
    assert directory(cwd_is_given=True) == HERE
    assert directory(workers(1, cwd="/app")) == "/app"


def test_without_an_image_the_node_shows_all_that_it_has():
    assert directory(servers(1, image=""), master="m") == HERE
    assert directory(image=None, master="m") == HERE
    assert directory(image=None, cwd=None, master="m") is None
