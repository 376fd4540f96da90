"""Hold offers until every waiting task has a place; give them back when that takes too long.

Half a cluster is worth nothing to a gang, but holding on to it blocks others: so offers are
held for a few seconds only, and refused for a random time then, so that two runs that want
the same nodes do not meet again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .actions import Action, Decline
from .census import KnownAgent
from .constraints import Node
from .offers import Offer, Placement, Seated, Sieve, place
from .spec import Resources, Task
from .wait import explain

HOLD = 5.0  # seconds
LONG_REFUSAL = 3600.0  # Mesos breaks it by itself for a bigger offer; Revive ends it
MEMORY = 15.0  # seconds for which the last offers tell how things stand, after they were refused


class Gang:
    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._held: dict[str, Offer] = {}
        self._release_at: float | None = None
        self._largest: tuple[Resources, str] | None = None
        self._nodes: dict[str, Node] = {}  # of every agent that made an offer
        self._last: tuple[Placement, float] | None = None  # that did not suffice, and when

        self.agents: tuple[KnownAgent, ...] = ()  # that the master knows, if it tells

    @property
    def deadline(self) -> float | None:
        return self._release_at

    def add(
        self, offers: Iterable[Offer], waiting: Sequence[Task], seated: Seated, now: float
    ) -> list[Action]:
        """Keep the offers that can be of use, decline the others at once."""
        declined: dict[str, list[str]] = {}
        sieve = Sieve(waiting, seated)
        for offer in offers:
            self._note(offer)
            if reason := sieve.useless(offer):
                declined.setdefault(reason, []).append(offer.id)
            else:
                self._held[offer.id] = offer
        if self._held and self._release_at is None:
            self._release_at = now + HOLD
        return [Decline(tuple(ids), LONG_REFUSAL, reason) for reason, ids in declined.items()]

    @property
    def held(self) -> list[Offer]:
        return list(self._held.values())

    def fit(self, waiting: Sequence[Task], seated: Seated, now: float) -> Placement:
        placement = place(waiting, self.held, seated)
        if self._held:
            self._last = (placement, now) if placement.unplaced else None
        return placement

    def rescind(self, offer_id: str) -> None:
        self._held.pop(offer_id, None)
        if not self._held:
            self._release_at = None

    def forget(self) -> None:
        """The master no longer honours what it offered."""
        self._held.clear()
        self._release_at = None

    def release_if_due(self, now: float) -> list[Action]:
        if self._last and not self._held and now - self._last[1] > MEMORY:
            self._last = None
        if self._release_at is None or now < self._release_at:
            return []
        return self.release(1.0 + 4.0 * self._jitter(), "not enough for every task")

    def release(self, refuse_seconds: float, reason: str) -> list[Action]:
        """Give everything back."""
        held = tuple(self._held)
        self.forget()
        return [Decline(held, refuse_seconds, reason)] if held else []

    def explain(self, waiting: Sequence[Task], total: int) -> str:
        """What the wait is for, in words."""
        placement = self._last[0] if self._last else None
        nodes = list(self._nodes.values())
        return explain(waiting, total, placement, self._largest, nodes, self.agents)

    def _note(self, offer: Offer) -> None:
        self._nodes[offer.agent_id] = offer.node
        size = offer.total
        if self._largest is None or _rank(size) > _rank(self._largest[0]):
            self._largest = size, offer.hostname


def _rank(size: Resources) -> tuple[int, int, int, int]:
    """What is rarest counts first."""
    return size.gpus, size.cpus, size.mem, size.disk
