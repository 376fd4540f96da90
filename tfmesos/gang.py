"""Hold offers until every waiting task has a place; give them back when that takes too long.

Half a cluster is worth nothing to a gang, but holding on to it blocks others: so offers are
held for a few seconds only. Then the run stands back from all offers, longer each time, so that
another one can have enough. Both times are random: runs that wait for the same nodes would else
give up at the same moment, get what the others gave up, and never have enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .actions import Action, Decline
from .census import Holder, KnownAgent
from .constraints import Node
from .offers import Offer
from .placement import Placement, Seated, Sieve, place
from .spec import Resources, Task
from .wait import explain

HOLD = (1.0, 4.0)  # seconds; a random time between them, as for all that several runs do
AWAY = (1.0, 5.0)  # seconds to leave the nodes to others, twice and then four times as long later
LONG_REFUSAL = 3600.0  # Mesos breaks it by itself for a bigger offer; Revive ends it
MEMORY = 25.0  # seconds, more than it is away, that the last offers tell how things stand


class Gang:
    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._held: dict[str, Offer] = {}
        self._release_at: float | None = None
        self._away_until = 0.0
        self._in_vain = 0  # how often offers were held and did not suffice
        self._largest: tuple[Resources, str] | None = None
        self._nodes: dict[str, Node] = {}  # of every agent that made an offer
        self._last: tuple[Placement, float] | None = None  # that did not suffice, and when

        self.agents: tuple[KnownAgent, ...] = ()  # that the master knows, if it tells
        self.holders: tuple[Holder, ...] = ()  # of their resources, likewise

    @property
    def deadline(self) -> float | None:
        return self._release_at

    def add(
        self, offers: Iterable[Offer], waiting: Sequence[Task], seated: Seated, now: float
    ) -> list[Action]:
        """Keep the offers that can be of use, decline the others at once."""
        if now < self._away_until:
            return self._bounce(offers, self._away_until - now)
        declined: dict[str, list[str]] = {}
        sieve = Sieve(waiting, seated)
        for offer in offers:
            self._note(offer)
            if reason := sieve.useless(offer):
                declined.setdefault(reason, []).append(offer.id)
            else:
                self._held[offer.id] = offer
        if self._held and self._release_at is None:
            self._release_at = now + self._between(*HOLD)
        return [Decline(tuple(ids), LONG_REFUSAL, reason) for reason, ids in declined.items()]

    def _bounce(self, offers: Iterable[Offer], away: float) -> list[Action]:
        for offer in offers:
            self._note(offer)
        return [Decline(tuple(offer.id for offer in offers), away, "left to other runs")]

    def _between(self, least: float, most: float) -> float:
        return least + (most - least) * self._jitter()

    @property
    def held(self) -> list[Offer]:
        return list(self._held.values())

    def fit(self, waiting: Sequence[Task], seated: Seated, now: float) -> Placement:
        """The tasks on what is held; on nodes that are soon taken down only when time is up."""
        lasting = [offer for offer in self.held if offer.is_lasting]
        soon_gone = [offer for offer in self.held if not offer.is_lasting]
        offers = [*lasting, *soon_gone] if self.is_due(now) else lasting
        placement = place(waiting, offers, seated)
        if self._held:
            self._last = (placement, now) if placement.unplaced else None
        return placement

    def is_due(self, now: float) -> bool:
        """Have the offers been held for as long as they may?"""
        return self._release_at is not None and now >= self._release_at

    def rescind(self, offer_id: str) -> None:
        self._held.pop(offer_id, None)
        if not self._held:
            self._release_at = None

    def forget(self) -> None:
        """The master no longer honours what it offered."""
        self._held.clear()
        self._release_at = None
        self._away_until, self._in_vain = 0.0, 0

    def release_if_due(self, now: float) -> list[Action]:
        if self._last and not self._held and now - self._last[1] > MEMORY:
            self._last = None
        if not self.is_due(now):
            return []
        times = self._in_vain
        away = self._between(*AWAY) * 2 ** min(times, 2)
        declined = self.release(away, "not enough for every task")
        self._away_until, self._in_vain = now + away, times + 1
        return declined

    def release(self, refuse_seconds: float, reason: str) -> list[Action]:
        """Give everything back."""
        held = tuple(self._held)
        self.forget()
        return [Decline(held, refuse_seconds, reason)] if held else []

    def explain(self, waiting: Sequence[Task], total: int) -> str:
        """What the wait is for, in words."""
        placement = self._last[0] if self._last else None
        nodes = list(self._nodes.values())
        known = (self.agents, self.holders)
        return explain(waiting, total, placement, self._largest, nodes, *known)

    def _note(self, offer: Offer) -> None:
        self._nodes[offer.agent_id] = offer.node
        size = offer.total
        if self._largest is None or _rank(size) > _rank(self._largest[0]):
            self._largest = size, offer.hostname


def _rank(size: Resources) -> tuple[int, int, int, int]:
    """What is rarest counts first."""
    return size.gpus, size.cpus, size.mem, size.disk
