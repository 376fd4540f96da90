"""The lease of a run on Kubernetes: only one launcher holds it at a time, on any machine.

Its holder is named in the object that owns the run, and renews it. The lock of a run directory that
was copied does not tell whether the launcher is alive; the lease does. Everything here is pure.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from ....json_types import Json
from ....record import Record
from .. import objects

FRESH = timedelta(seconds=60)  # a holder that has not renewed it for this long is gone


class Holder(Record):
    """A launcher of the run: the *epoch*-th one; the *token* is its own."""

    epoch: int
    token: str
    name: str

    def __str__(self) -> str:
        return f"{self.epoch} {self.token} {self.name}"


def holder_of(owner: Json) -> Holder | None:
    """None if no launcher is named."""
    annotations = (owner.get("metadata") or {}).get("annotations") or {}
    epoch, _, rest = str(annotations.get(objects.HOLDER) or "").partition(" ")
    token, _, name = rest.partition(" ")
    return Holder(int(epoch), token, name) if epoch.isdecimal() and token else None


def renewed_at(owner: Json) -> datetime | None:
    """When its holder last renewed it, by the clock of the server."""
    metadata = owner.get("metadata") or {}
    renewed = (metadata.get("annotations") or {}).get(objects.RENEWED)
    return time_of(renewed) or time_of(metadata.get("creationTimestamp"))


def is_fresh(owner: Json, gone: Collection[int], now: datetime) -> bool:
    """Can its holder be alive? The launchers in *gone* are known to have ended."""
    holder, renewed = holder_of(owner), renewed_at(owner)
    if holder is None or holder.epoch in gone or renewed is None:
        return False
    return now - renewed < FRESH


def successor(owner: Json, us: Holder) -> Holder | None:
    """The launcher that holds the run in our place: ours is an old copy of its directory, or we
    were stopped for long.
    """
    holder = holder_of(owner)
    is_other = holder is not None and holder.token != us.token and holder.epoch >= us.epoch
    return holder if is_other else None


def time_of(text: object) -> datetime | None:
    """A time in the format of Kubernetes."""
    try:
        return datetime.strptime(str(text), objects.TIME)
    except ValueError:
        return None
