"""Pods that a queue admits together: a plain pod group of Kueue.

Each time a run creates pods, they form a new group. So Kueue need not replace pods that failed: a
group is done when all of its pods have ended, and then Kueue lets go of them.
"""

from __future__ import annotations

from typing import Any

from ....json_types import Json
from ....record import Record

_KUEUE = "kueue.x-k8s.io"


class PodGroup(Record):
    queue: str
    name: str
    count: int

    @classmethod
    def of(cls, queue: str | None, run: str, number: int, count: int) -> PodGroup | None:
        """The group number *number* of *run*, from 1 on; None if there is no queue."""
        name = run if number == 1 else f"{run}-{number}"
        return cls(queue, name, count) if queue else None

    @property
    def labels(self) -> dict[str, str]:
        return {f"{_KUEUE}/queue-name": self.queue, f"{_KUEUE}/pod-group-name": self.name}

    @property
    def annotations(self) -> dict[str, str]:
        return {
            f"{_KUEUE}/pod-group-total-count": str(self.count),
            f"{_KUEUE}/retriable-in-group": "false",
        }


def reason(workload: Json) -> str:
    """Why the queue does not admit the group; empty if it does, or does not say."""
    status = workload.get("status")
    conditions = status.get("conditions") if isinstance(status, dict) else None
    found = {
        str(one.get("type")): one
        for one in (conditions if isinstance(conditions, list) else [])
        if isinstance(one, dict)
    }
    for name, value in (("Evicted", "True"), ("QuotaReserved", "False"), ("Admitted", "False")):
        if _is(found.get(name), value) and not _is(found.get("Admitted"), "True"):
            return str(found[name].get("message") or "")
    return ""


def _is(condition: Any, value: str) -> bool:
    return condition is not None and condition.get("status") == value
