"""Quotas and nodes, as an API server writes their amounts."""

import pytest

from tfmesos.config.job import Resources
from tfmesos.engines.kubernetes.node_room import node_room
from tfmesos.engines.kubernetes.quota import amount, is_hopeless

PODS = [
    {
        "spec": {
            "containers": [
                {"resources": {"requests": {"cpu": "1500m"}, "limits": {"memory": "2Gi"}}}
            ]
        }
    }
] * 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1500m", 1.5), ("2", 2.0), ("2Gi", 2.0**31), ("1k", 1e3), ("2x", None), ("", None)],
)
def test_an_amount_is_a_number(text, expected):
    assert amount(text) == expected
    assert amount("1.2.3") is None


@pytest.mark.parametrize(
    ("limited", "is_too_much"),
    [
        ("cpu=3", False),
        ("cpu=2", True),
        ("requests.cpu=2999m", True),
        ("limits.memory=4Gi", False),
        ("limits.memory=3Gi", True),
        ("pods=1", True),
        ("count/pods=2", False),
        ("cpu=odd,pods=1", True),
        ("requests.nvidia.com/gpu=0", False),
    ],
)
def test_a_quota_that_is_smaller_than_the_whole_run_is_hopeless(limited, is_too_much):
    message = f"exceeded quota: q, requested: cpu=1, used: cpu=9, limited: {limited}"
    assert is_hopeless(message, PODS) is is_too_much


def test_a_node_has_what_it_lets_pods_have():
    there = {"cpu": "3920m", "memory": "16Gi", "amd.com/gpu": "2", "pods": "110"}
    node = {"metadata": {"name": "a"}, "status": {"allocatable": there}}
    found = node_room(node, "amd.com/gpu")
    assert (found.name, found.room) == ("a", Resources.of(3.92, 16384, 2))
    assert node_room({}, "amd.com/gpu").room == Resources()
