"""GPUs of tasks in containers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize(
    "name, meant",
    [
        ("docker-gpus", {"Count": 2, "DeviceIDs": None}),
        ("docker-gpu-by-name", {"Count": 0, "DeviceIDs": ["GPU-a"]}),
        ("docker-gpus-by-name", {"Count": 0, "DeviceIDs": ["GPU-a", "GPU-b"]}),
    ],
)
def test_docker_reads_our_request_for_gpus_as_we_mean_it(docker, base, name, meant):
    info = json.loads((GOLDEN / f"{name}.json").read_text())
    parameters = info["container"]["docker"]["parameters"]
    flags = [f"--{p['key']}={p['value']}" for p in parameters]
    docker("create", "--name", "wants-gpus", "--memory", "64m", *flags, base, "true")
    (found,) = json.loads(docker("inspect", "wants-gpus").stdout)
    docker("rm", "wants-gpus")
    (asked,) = found["HostConfig"]["DeviceRequests"]
    assert {key: asked[key] for key in meant} == meant and asked["Capabilities"] == [["gpu"]]
