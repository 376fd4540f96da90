"""Constraints, in the words of the scheduler of Kubernetes."""

import pytest

from tests.builders import workers
from tfmesos.engines.kubernetes.pods.affinity import check, placement
from tfmesos.errors import SpecError

SELECTOR = {"tfmesos/run": "r", "tfmesos/job": "worker"}
PODS = {"labelSelector": {"matchLabels": SELECTOR}}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(*constraints, avoid=()):
    return placement(workers(2, constraints=constraints), SELECTOR, avoid)


def on_nodes(key, operator, *values):
    rule = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    return {"affinity": {"nodeAffinity": {REQUIRED: terms}}}


def test_without_constraints_there_is_nothing_to_obey():
    assert affinity() == {}


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("zone:IS:a", on_nodes("topology.kubernetes.io/zone", "In", "a")),
        ("zone:CLUSTER:a", on_nodes("topology.kubernetes.io/zone", "In", "a")),
        ("hostname:LIKE:n1|n2", on_nodes("kubernetes.io/hostname", "In", "n1", "n2")),
        ("hostname:LIKE:(n1|n2)", on_nodes("kubernetes.io/hostname", "In", "n1", "n2")),
        (r"hostname:LIKE:n1\.lan", on_nodes("kubernetes.io/hostname", "In", "n1.lan")),
        ("gpu:LIKE:.*", on_nodes("gpu", "Exists")),
        ("gpu:UNLIKE:a100|v100", on_nodes("gpu", "NotIn", "a100", "v100")),
        ("gpu:UNLIKE:.+", on_nodes("gpu", "DoesNotExist")),
    ],
)
def test_a_constraint_on_single_nodes_is_a_rule_of_node_affinity(constraint, expected):
    assert affinity(constraint) == expected


@pytest.mark.parametrize("constraint", ["hostname:UNIQUE", "hostname:MAX_PER:1"])
def test_tasks_apart_are_pods_with_anti_affinity(constraint):
    rule = {**PODS, "topologyKey": "kubernetes.io/hostname"}
    assert affinity(constraint) == {"affinity": {"podAntiAffinity": {REQUIRED: [rule]}}}


def test_tasks_together_are_pods_with_affinity():
    rule = {**PODS, "topologyKey": "topology.kubernetes.io/region"}
    assert affinity("region:CLUSTER") == {"affinity": {"podAffinity": {REQUIRED: [rule]}}}


def test_groups_are_spread_evenly():
    spread = {**PODS, "topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    assert affinity("rack:GROUP_BY") == {"topologySpreadConstraints": [spread]}


def test_nodes_are_avoided_only_if_there_are_others():
    rules = affinity(avoid=["node-1"])["affinity"]["nodeAffinity"]
    field = {"key": "metadata.name", "operator": "NotIn", "values": ["node-1"]}
    assert rules == {PREFERRED: [{"weight": 100, "preference": {"matchFields": [field]}}]}


@pytest.mark.parametrize(
    "constraint", ["rack:GROUP_BY:3", "hostname:MAX_PER:2", "hostname:LIKE:n[0-9]+", "a:UNLIKE:n.1"]
)
def test_what_the_scheduler_cannot_express_is_refused_by_name(constraint):
    with pytest.raises(SpecError) as error:
        check(workers(2, constraints=[constraint]))
    assert error.value.field == "constraints"
    assert repr(constraint) in str(error.value) and "Kubernetes" in str(error.value)
