"""The resources of a container of a pod -> cpus, mem, gpus and disk of a job."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ..parts import Part
from ..translation import Document, JobFileError
from . import quantities

GPUS = ("nvidia.com/gpu", "alpha.kubernetes.io/nvidia-gpu")

Amounts = Mapping[str, Any]


def resources_of(one: Part) -> Document:
    """The request for CPUs, and the limits of the others, as Mesos enforces them."""
    part = one.part("resources")
    limits, requests = part.values("limits"), part.values("requests")
    part.warn(claims="has no effect here: on Kubernetes, use pod_template")
    part.close()
    places = {"limits": limits, "requests": requests}
    for where, amounts in places.items():
        for name in amounts.keys() - {"cpu", "memory", "ephemeral-storage", *GPUS}:
            raise JobFileError((*part.key, where, name), "is not a resource that a task can have")
    found = {
        "cpus": _amount(part, "cpu", {"requests": requests, "limits": limits}),
        "mem": _amount(part, "memory", places, per=quantities.MIB),
        "disk": _amount(part, "ephemeral-storage", places, per=quantities.MIB),
        "gpus": next(filter(None, (_amount(part, name, places) for name in GPUS)), None),
    }
    return {field: amount for field, amount in found.items() if amount}


def _amount(
    part: Part, name: str, places: Mapping[str, Amounts], per: int = 1
) -> int | float | None:
    """The first of the places that has it counts."""
    place = next((place for place, amounts in places.items() if name in amounts), None)
    if place is None:
        return None
    try:
        return quantities.plain(quantities.parse(places[place][name]) / Decimal(per))
    except ValueError as error:
        raise JobFileError((*part.key, place, name), str(error)) from None
