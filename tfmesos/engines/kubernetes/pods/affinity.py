"""Placement constraints -> the fields of a pod by which the scheduler of Kubernetes obeys them.

The fields ``hostname``, ``zone`` and ``region`` have the labels that every cluster gives its nodes;
any other field is a label itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....config.constraints import Constraint
from ....config.job import Job
from ....errors import SpecError
from ....json_types import Json

LABELS = {
    "hostname": "kubernetes.io/hostname",
    "zone": "topology.kubernetes.io/zone",
    "region": "topology.kubernetes.io/region",
}
_WORDS = re.compile(r"\(?([\w.-]+(?:\|[\w.-]+)*)\)?", re.A)  # without a dot that means any letter
_ANY = (".*", ".+")


def label_of(field: str) -> str:
    return LABELS.get(field, field)


def check(job: Job) -> None:
    for constraint in job.constraints:
        if problem := _problem(constraint):
            raise SpecError(job.name, "constraints", f"{str(constraint)!r} {problem}")


def _problem(constraint: Constraint) -> str:
    operator, value = constraint.operator, constraint.value
    if operator == "GROUP_BY" and value:
        return (
            "is not supported on Kubernetes: leave out the number, and all values are used evenly"
        )
    if operator == "MAX_PER" and value.lstrip("0") != "1":
        return "is not supported on Kubernetes, except for MAX_PER:1; GROUP_BY spreads evenly"
    if operator in ("LIKE", "UNLIKE") and _values(value) is None:
        return (
            "is not supported on Kubernetes: its scheduler supports only the patterns a|b|c and .*"
        )
    return ""


def placement(job: Job, selector: Mapping[str, str], avoid: Sequence[str] = ()) -> Json:
    """Fields of the spec of its pods; *selector* are labels that only these have."""
    nodes = [found for one in job.constraints if (found := _node_rule(one))]
    apart = [_pods_rule(one, selector) for one in job.constraints if _is_apart(one)]
    together = [_pods_rule(one, selector) for one in job.constraints if one.chooses_value]
    spread = [_spread(one, selector) for one in job.constraints if one.operator == "GROUP_BY"]
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity: dict[str, Any] = {
        "nodeAffinity": {**_on(nodes), **_off(avoid)},
        "podAffinity": {required: together} if together else {},
        "podAntiAffinity": {required: apart} if apart else {},
    }
    affinity = {name: rules for name, rules in affinity.items() if rules}
    return {
        **({"affinity": affinity} if affinity else {}),
        **({"topologySpreadConstraints": spread} if spread else {}),
    }


def _on(rules: list[Json]) -> Json:
    """All of *rules* hold."""
    terms = {"nodeSelectorTerms": [{"matchExpressions": rules}]}
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms} if rules else {}


def _off(nodes: Iterable[str]) -> Json:
    """Avoid these if there are others."""
    rule = {"key": "metadata.name", "operator": "NotIn"}
    terms = [
        {"weight": 100, "preference": {"matchFields": [{**rule, "values": [node]}]}}
        for node in nodes
    ]
    return {"preferredDuringSchedulingIgnoredDuringExecution": terms} if terms else {}


def _node_rule(constraint: Constraint) -> Json | None:
    """What the node of a pod must be like, whatever the others have."""
    key, operator, value = label_of(constraint.field), constraint.operator, constraint.value
    if operator == "IS" or (operator == "CLUSTER" and value):
        return {"key": key, "operator": "In", "values": [value]}
    if operator not in ("LIKE", "UNLIKE"):
        return None
    values = _values(value)
    if not values:
        return {"key": key, "operator": "Exists" if operator == "LIKE" else "DoesNotExist"}
    return {"key": key, "operator": "In" if operator == "LIKE" else "NotIn", "values": values}


def _values(pattern: str) -> list[str] | None:
    """The words that *pattern* lists, none if it matches everything; None for any other pattern."""
    if pattern in _ANY:
        return []
    plain = pattern.replace("\\.", "\0")
    found = None if "." in plain else _WORDS.fullmatch(plain.replace("\0", "."))
    return None if found is None else found[1].split("|")


def _is_apart(constraint: Constraint) -> bool:
    return constraint.operator in ("UNIQUE", "MAX_PER")


def _pods_rule(constraint: Constraint, selector: Mapping[str, str]) -> Json:
    selected = {"matchLabels": dict(selector)}
    return {"labelSelector": selected, "topologyKey": label_of(constraint.field)}


def _spread(constraint: Constraint, selector: Mapping[str, str]) -> Json:
    return {
        **_pods_rule(constraint, selector),
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
    }
