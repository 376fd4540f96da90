"""The previous place of a restarted task, where the others still expect it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...config.job import Task
from ...core.actions import PreviousPlace
from .offers import Entry, Offer
from .placement import AgentLoad, Seated, place


def find(
    task: Task, previous: PreviousPlace, offers: Iterable[Offer], seated: Seated = ()
) -> AgentLoad | None:
    """The previous place of *task*, if the offers include it."""
    here = [offer for offer in offers if offer.agent_id == previous.node]
    has_ports = any(entry.name == "ports" for offer in here for entry in offer.entries)
    narrowed = [offer.replace(entries=_narrowed(offer.entries, previous.port)) for offer in here]
    placement = place([task], narrowed, seated)
    if placement.unplaced:
        return None
    (found,) = placement.loads
    (seat,) = found.seats
    if has_ports and seat.port != previous.port:
        return None
    return found.replace(seats=(seat.replace(port=previous.port),))


def _narrowed(entries: Sequence[Entry], port: int) -> tuple[Entry, ...]:
    """The entries, with only the port that we had."""
    return tuple(
        entry.replace(ports=((port, port),), amount=1) if has_it else entry
        for entry in entries
        if (has_it := _holds(entry, port)) or entry.name != "ports"
    )


def _holds(entry: Entry, port: int) -> bool:
    return entry.name == "ports" and any(first <= port <= last for first, last in entry.ports)
