"""Hold offers until every waiting task has a place; give them back when that takes too long.

Half a cluster is useless to a gang, and holding on to it blocks others, so offers are held only for
a few seconds. Then the run leaves all offers to others, longer each time, so that another run can
have enough. Both times are random: otherwise runs that wait for the same nodes would give up at the
same moment, get what the others returned, and never have enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...config.constraints import Node
from ...config.job import Resources, Task
from ...core.actions import Say, Wanted
from ...text import agreeing, join_names, time_until
from . import previous_place
from .actions import Decline, Suppress
from .explain import explain
from .feasibility import Holder, KnownAgent
from .offers import Offer
from .placement import AgentLoad, Placement, Seated, Sieve, place
from .quotas import Quota

HOLD = (1.0, 4.0)  # seconds; a random time between them, as for all that several runs do
AWAY = (1.0, 5.0)  # seconds to leave the nodes to others, twice and then four times as long later
LONG_REFUSAL = 3600.0  # Mesos breaks it by itself for a bigger offer; Revive ends it
MEMORY = 25.0  # extra seconds for which the last offers still describe the situation
UNWANTED = "no task is waiting"

Todo = list[Decline | Suppress | Say]
LEFT_ALONE = "tasks keep failing there, or were moved away"


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
        self._avoided: Mapping[str, float] = {}  # agents to avoid, and until when
        self._said_avoided: set[tuple[str, float]] = set()
        self.agents: tuple[KnownAgent, ...] = ()  # that the master knows, if it tells
        self.holders: tuple[Holder, ...] = ()  # of their resources, likewise
        self.quotas: tuple[Quota, ...] = ()  # that limit our role, likewise

    @property
    def deadline(self) -> float | None:
        return self._release_at

    def avoid(self, agents: Mapping[str, float]) -> None:
        self._avoided = agents

    def take(
        self, offers: Sequence[Offer], waiting: Sequence[Wanted], seated: Seated, now: float
    ) -> tuple[list[AgentLoad], Todo]:
        """The places to take now, and what to do with the other offers."""
        if not waiting:
            ids = tuple(offer.id for offer in offers)
            return [], [Decline(ids, LONG_REFUSAL, UNWANTED), Suppress()] if ids else []
        usable, declined = self._without_avoided(offers, now)
        declined += self._add(usable, [wanted.task for wanted in waiting], seated, now)
        returned = self._find_previous_places(waiting, seated)
        housed = {seat.task: load.node for load in returned for seat in load.seats}
        left = [wanted for wanted in waiting if wanted.task not in housed]
        if any(wanted.previous_place and now < wanted.previous_place.until for wanted in left):
            return returned, declined
        seated = [*seated, *housed.items()]
        placement = self._fit([wanted.task for wanted in left], seated, now)
        if placement.unplaced:
            return returned, declined
        used = {offer.id for load in placement.loads for offer in load.offers}
        unused = tuple(offer_id for offer_id in self._held if offer_id not in used)
        self.forget()
        if unused:
            declined.append(Decline(unused, LONG_REFUSAL, UNWANTED))
        warnings = [_soon_gone(load) for load in placement.loads if not load.is_lasting]
        return [*returned, *placement.loads], [*warnings, *declined, Suppress()]

    def _without_avoided(self, offers: Sequence[Offer], now: float) -> tuple[list[Offer], Todo]:
        """The offers, without those of agents that are avoided for a while."""
        usable: list[Offer] = []
        declined: Todo = []
        for offer in offers:
            self._note(offer)
            until = self._avoided.get(offer.agent_id, now)
            if until <= now or len(self._nodes) < 2:  # or there is no other to try
                usable.append(offer)
                continue
            if (offer.agent_id, until) not in self._said_avoided:
                self._said_avoided.add((offer.agent_id, until))
                text = f"{offer.hostname} is avoided for {until - now:.0f} s: {LEFT_ALONE}"
                declined.append(Say(text, "warning"))
            declined.append(Decline((offer.id,), until - now, LEFT_ALONE))
        return usable, declined

    def _add(
        self, offers: Iterable[Offer], waiting: Sequence[Task], seated: Seated, now: float
    ) -> Todo:
        """Keep useful offers, and decline the others at once."""
        if now < self._away_until:
            ids = tuple(offer.id for offer in offers)
            return [Decline(ids, self._away_until - now, "left to other runs")] if ids else []
        declined: dict[str, list[str]] = {}
        sieve = Sieve(waiting, seated)
        for offer in offers:
            if reason := sieve.useless(offer):
                declined.setdefault(reason, []).append(offer.id)
            else:
                self._held[offer.id] = offer
        if self._held and self._release_at is None:
            self._release_at = now + self._between(*HOLD)
        return [Decline(tuple(ids), LONG_REFUSAL, reason) for reason, ids in declined.items()]

    def _find_previous_places(self, waiting: Sequence[Wanted], seated: Seated) -> list[AgentLoad]:
        """The places of the tasks that can return to their previous place."""
        found = []
        for wanted in waiting:
            if wanted.previous_place is None:
                continue
            load = previous_place.find(
                wanted.task, wanted.previous_place, self._held.values(), seated
            )
            if load is not None:
                for offer in load.offers:
                    self.rescind(offer.id)
                found.append(load)
        return found

    def _fit(self, waiting: Sequence[Task], seated: Seated, now: float) -> Placement:
        """The tasks on the offers; nodes that will soon be taken down only when time is up."""
        lasting = [offer for offer in self._held.values() if offer.is_lasting]
        soon_gone = [offer for offer in self._held.values() if not offer.is_lasting]
        offers = [*lasting, *soon_gone] if self.is_due(now) else lasting
        placement = place(waiting, offers, seated)
        if self._held:
            self._last = (placement, now) if placement.unplaced else None
        return placement

    def could_take(self, waiting: Sequence[Wanted], seated: Seated, now: float) -> bool:
        """Do these fit the held offers?"""
        return bool(self._held) and not self._fit([w.task for w in waiting], seated, now).unplaced

    def is_due(self, now: float) -> bool:
        """Have the offers been held for as long as they may?"""
        return self._release_at is not None and now >= self._release_at

    def _between(self, least: float, most: float) -> float:
        return least + (most - least) * self._jitter()

    def rescind(self, offer_id: str) -> None:
        self._held.pop(offer_id, None)
        if not self._held:
            self._release_at = None

    def forget(self) -> None:
        """The master has rescinded these offers."""
        self._held.clear()
        self._release_at = None
        self._away_until = 0.0
        self._in_vain = 0

    def release_if_due(self, now: float) -> Todo:
        if not self.is_due(now):
            return []
        times = self._in_vain
        away = self._between(*AWAY) * 2 ** min(times, 2)
        declined = self.release(away, "not enough for every task")
        self._away_until = now + away
        self._in_vain = times + 1
        return declined

    def release(self, refuse_seconds: float, reason: str) -> Todo:
        """Give everything back."""
        held = tuple(self._held)
        self.forget()
        return [Decline(held, refuse_seconds, reason)] if held else []

    def explain(self, waiting: Sequence[Task], now: float) -> tuple[int, str]:
        """How many of *waiting* could have a place, and what the others wait for."""
        is_known = self._last and (self._held or now - self._last[1] <= MEMORY)
        placement = self._last[0] if self._last and is_known else None
        nodes = list(self._nodes.values())
        return explain(
            waiting, placement, self._largest, nodes, self.agents, self.holders, self.quotas
        )

    def _note(self, offer: Offer) -> None:
        self._nodes[offer.agent_id] = offer.node
        size = offer.total
        if self._largest is None or _rank(size) > _rank(self._largest[0]):
            self._largest = size, offer.hostname


def _soon_gone(load: AgentLoad) -> Say:
    names = join_names([seat.task.name for seat in load.seats])
    text = f"{load.hostname} is scheduled for maintenance {time_until(load.down_in or 0.0)}"
    go = agreeing(len(load.seats), "goes", "go")
    return Say(f"{text}; {names} {go} there anyway, because nothing else is free", "warning")


def _rank(size: Resources) -> tuple[int, int, int, int]:
    """The rarest resource counts first."""
    return size.gpus, size.cpus, size.mem, size.disk
