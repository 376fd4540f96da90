"""What a runner is told."""

from __future__ import annotations

import pytest

from tfmesos.config.job import Job
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.launcher.links.messages import runner_grace


@pytest.mark.parametrize(
    ("master", "seconds"), [("local", 2.0), ("m:5050", 30.0), ("k8s://", 120.0)]
)
def test_tasks_go_on_for_as_long_as_their_launcher_may_be_out_of_reach(master, seconds):
    config = LaunchConfig((Job("worker", 1, cmd="true", image="a"),), master=master)
    assert runner_grace(config) == seconds
