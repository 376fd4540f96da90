"""Whether a quota of the namespace can ever admit a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...json_types import Json

_LIMITED = re.compile(r"limited: ([^\s]+)")
_AMOUNT = re.compile(r"([0-9.]+)([a-zA-Z]*)")
_UNITS = {
    **{"": 1.0, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12},
    **{"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40},
}


def is_hopeless(message: str, pods: Sequence[Json]) -> bool:
    """Do *pods* together need more than the quota in *message* allows, whoever else uses it?"""
    found = _LIMITED.search(message)
    if not found:
        return False
    for pair in found[1].split(","):
        name, _, limit = pair.partition("=")
        most = amount(limit)
        if most is not None and _needed(name, pods) > most:
            return True
    return False


def _needed(name: str, pods: Iterable[Json]) -> float:
    if name in ("pods", "count/pods"):
        return float(len(list(pods)))
    kind, _, resource = name.partition(".")
    if kind not in ("requests", "limits") or not resource:
        kind, resource = "requests", name
    return sum(_of_pod(pod, kind, resource) for pod in pods)


def _of_pod(pod: Mapping[str, Any], kind: str, resource: str) -> float:
    containers = pod["spec"]["containers"]
    amounts = [one.get("resources", {}).get(kind, {}).get(resource, "0") for one in containers]
    return sum(amount(str(text)) or 0.0 for text in amounts)


def amount(text: str) -> float | None:
    """A quantity such as ``1500m`` or ``2Gi``; None if it is not valid."""
    found = _AMOUNT.fullmatch(text)
    if not found or found[2] not in _UNITS:
        return None
    try:
        return float(found[1]) * _UNITS[found[2]]
    except ValueError:
        return None
