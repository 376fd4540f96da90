"""What runners measured is read with care."""

from __future__ import annotations

import pytest

from tfmesos.errors import FrameError
from tfmesos.launcher.links.usage import Gpu, Usage, usage_of


def test_a_measurement_is_read():
    gpus = [[93, 10, 16], [None, None, None]]
    found = usage_of({"usage": {"cpu": 187.4, "memory": 700, "gpus": gpus}})
    assert found == Usage(187.4, 700, (Gpu(93, 10, 16), Gpu(None, None, None)))


@pytest.mark.parametrize("message", [{}, {"usage": {}}, {"usage": None}])
def test_nothing_measured_is_nothing(message):
    assert usage_of(message) is None


@pytest.mark.parametrize(
    "usage",
    [
        5,
        [1],
        {"cpu": 1},
        {"cpu": "1", "memory": 1},
        {"cpu": True, "memory": 1},
        {"cpu": -1, "memory": 1},
        {"cpu": float("nan"), "memory": 1},
        {"cpu": float("inf"), "memory": 1},
        {"cpu": 1, "memory": 10**30},
        {"cpu": 1, "memory": 1, "gpus": 3},
        {"cpu": 1, "memory": 1, "gpus": [[1, 2]]},
        {"cpu": 1, "memory": 1, "gpus": [[1, 2, "3"]]},
        {"cpu": 1, "memory": 1, "gpus": [[1, 2, 3]] * 65},
    ],
)
def test_a_measurement_that_is_none_is_refused(usage):
    with pytest.raises(FrameError):
        usage_of({"usage": usage})
