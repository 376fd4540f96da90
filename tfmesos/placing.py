"""Which offers are taken for the tasks that wait for a place, and which are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .actions import Action, Decline, Say, Suppress
from .gang import LONG_REFUSAL, Gang
from .offers import Offer
from .placement import Place, Seated
from .restarts import CoolDown
from .roster import Member
from .words import some

UNWANTED = "no task is waiting"


class Placing:
    def __init__(self, jitter: Callable[[], float]) -> None:
        self.gang = Gang(jitter)
        self.cool_down = CoolDown()

    def take(
        self, offers: Sequence[Offer], waiting: Sequence[Member], seated: Seated, now: float
    ) -> tuple[list[Place], list[Action]]:
        """The places to be taken now, and what is to be done about the other offers."""
        if not waiting and not offers:
            return [], []
        if not waiting:
            ids = tuple(offer.id for offer in offers)
            return [], [Decline(ids, LONG_REFUSAL, UNWANTED), Suppress()]
        usable, declined = self._shun(offers, now)
        declined += self.gang.add(usable, [member.task for member in waiting], seated, now)
        homes = self._find_homes(waiting, seated)
        housed = {seat.task: place.node for place in homes for seat in place.seats}
        left = [member for member in waiting if member.task not in housed]
        if any(m.home and now < m.home.until for m in left):
            return homes, declined
        seated = [*seated, *housed.items()]
        placement = self.gang.fit([member.task for member in left], seated, now)
        if placement.unplaced:
            return homes, declined
        used = {offer.id for place in placement.places for offer in place.offers}
        unused = tuple(offer.id for offer in self.gang.held if offer.id not in used)
        self.gang.forget()
        if unused:
            declined.append(Decline(unused, LONG_REFUSAL, UNWANTED))
        warnings = [_soon_gone(place) for place in placement.places if not place.is_lasting]
        return [*homes, *placement.places], [*warnings, *declined, Suppress()]

    def _shun(self, offers: Sequence[Offer], now: float) -> tuple[list[Offer], list[Action]]:
        """The offers without those of agents that are to be left alone for a while."""
        usable: list[Offer] = []
        declined: list[Action] = []
        for offer in offers:
            self.cool_down.saw(offer.agent_id)
            if left := self.cool_down.left(offer.agent_id, now):
                declined.append(Decline((offer.id,), left, "tasks keep failing there"))
            else:
                usable.append(offer)
        return usable, declined

    def _find_homes(self, waiting: Sequence[Member], seated: Seated) -> list[Place]:
        """The places of those that can have their old address again."""
        found = []
        for member in waiting:
            if member.home and (place := member.home.find(member.task, self.gang.held, seated)):
                for offer in place.offers:
                    self.gang.rescind(offer.id)
                found.append(place)
        return found


def _soon_gone(place: Place) -> Say:
    names = some([seat.task.name for seat in place.seats])
    down_in = min(offer.down_in for offer in place.offers if offer.down_in is not None)
    when = f"in {down_in / 60:.0f} min" if down_in else "now"
    text = f"{place.hostname} is to be taken down for maintenance {when}"
    return Say(f"{text}; {names} goes there all the same, for nothing else is free", "warning")
