"""The old place of a task that is started again: the others still look for it there."""

from __future__ import annotations

from collections.abc import Sequence

from .offers import Entry, Offer
from .placement import Place, Seated, place
from .record import Record
from .spec import Task

PATIENCE = 10.0  # seconds for which only the old place will do


class Home(Record):
    agent_id: str
    port: int
    until: float  # the time when any other place will do as well

    def find(self, task: Task, offers: Sequence[Offer], seated: Seated = ()) -> Place | None:
        """The place of *task* at its old address, if the offers hold it."""
        here = [o for o in offers if o.agent_id == self.agent_id]
        has_ports = any(entry.name == "ports" for offer in here for entry in offer.entries)
        narrowed = [offer.but(entries=self._narrowed(offer.entries)) for offer in here]
        placement = place([task], narrowed, seated)
        if placement.unplaced:
            return None
        (found,) = placement.places
        (seat,) = found.seats
        if has_ports and seat.port != self.port:
            return None
        return found.but(seats=(seat.but(port=self.port),))

    def _narrowed(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries, of all ports only the one we had."""
        return tuple(
            entry.but(ports=((self.port, self.port),), amount=1) if has_it else entry
            for entry in entries
            if (has_it := self._is_in(entry)) or entry.name != "ports"
        )

    def _is_in(self, entry: Entry) -> bool:
        is_there = any(first <= self.port <= last for first, last in entry.ports)
        return entry.name == "ports" and is_there
