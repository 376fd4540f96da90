"""Hold offers until every waiting task has a place; give them back when that takes too long.

Half a cluster is worth nothing to a gang, but holding on to it blocks others: so offers are
held for a few seconds only, and refused for a random time then, so that two runs that want
the same nodes do not meet again and again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .actions import Action, Decline
from .offers import Offer, Placement, place, useless
from .spec import Resources, Task

HOLD = 5.0  # seconds
LONG_REFUSAL = 3600.0  # Mesos breaks it by itself for a bigger offer; Revive ends it


class Gang:
    def __init__(self, jitter: Callable[[], float]) -> None:
        self._jitter = jitter
        self._held: dict[str, Offer] = {}
        self._release_at: float | None = None
        self._largest: tuple[Resources, str] | None = None

    @property
    def deadline(self) -> float | None:
        return self._release_at

    def add(self, offers: Iterable[Offer], waiting: Sequence[Task], now: float) -> list[Action]:
        """Keep the offers that can be of use, decline the others at once."""
        declined: dict[str, list[str]] = {}
        sizes = _one_of_each_size(waiting)
        for offer in offers:
            self._note_size(offer)
            if reason := useless(offer, sizes):
                declined.setdefault(reason, []).append(offer.id)
            else:
                self._held[offer.id] = offer
        if self._held and self._release_at is None:
            self._release_at = now + HOLD
        return [Decline(tuple(ids), LONG_REFUSAL, reason) for reason, ids in declined.items()]

    @property
    def held(self) -> list[Offer]:
        return list(self._held.values())

    def fit(self, waiting: Sequence[Task]) -> Placement:
        return place(waiting, self.held)

    def rescind(self, offer_id: str) -> None:
        self._held.pop(offer_id, None)
        if not self._held:
            self._release_at = None

    def forget(self) -> None:
        """The master no longer honours what it offered."""
        self._held.clear()
        self._release_at = None

    def release_if_due(self, now: float) -> list[Action]:
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
        if self._largest is None:
            (first, *_) = waiting
            return (
                f"0 of {_count(total, 'task')} placed; {first.name} needs {first.job.needs}; "
                "no offer seen that is big enough"
            )
        placement = self.fit(waiting)
        size, hostname = self._largest
        placed = total - len(placement.unplaced)
        missing = placement.unplaced[0] if placement.unplaced else waiting[0]
        return (
            f"{placed} of {_count(total, 'task')} placed; {missing.name} needs "
            f"{missing.job.needs}; largest offer seen: {size} on {hostname}"
        )

    def _note_size(self, offer: Offer) -> None:
        size = offer.total
        if self._largest is None or _rank(size) > _rank(self._largest[0]):
            self._largest = size, offer.hostname


def _rank(size: Resources) -> tuple[int, int, int]:
    """What is rarest counts first."""
    return size.gpus, size.cpus, size.mem


def _one_of_each_size(tasks: Iterable[Task]) -> list[Task]:
    return list({task.job.needs: task for task in reversed(list(tasks))}.values())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
