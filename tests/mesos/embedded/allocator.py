"""Who is offered what: fair shares, filters, suppressed roles, hidden GPU agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tfmesos.json_types import Json

from .entities import Agent, Filter, Framework, Offer, Timing
from .resources import Resources, total

_MIN_CPUS, _MIN_MEM = 0.01, 32.0  # less than both is not worth an offer

Claim = tuple[Framework, str]  # a framework in one of its roles
Key = tuple[str, str]  # the same, by the framework's id


class OfferBook:
    """Every outstanding offer, kept with its agent; what it holds is not free."""

    def __init__(
        self,
        master_id: str,
        agents: Mapping[str, Agent],
        frameworks: Mapping[str, Framework],
        timing: Timing,
    ) -> None:
        self._master_id = master_id
        self._agents, self._frameworks = agents, frameworks
        self._timing = timing
        self._made = 0

    def restart(self, master_id: str) -> None:
        self._master_id, self._made = master_id, 0
        for agent in self._agents.values():
            agent.offers.clear()

    def make(self, now: float) -> dict[str, list[Offer]]:
        """Offer all that is free to those who may have it and want it; by framework id."""
        made: dict[str, list[Offer]] = {}
        for framework in self._frameworks.values():
            framework.filters = [f for f in framework.filters if f.expires > now]
        claims = list(self._claims())
        allocation = Allocation(claims, self._agents.values())
        for agent in self._agents.values() if claims else ():
            if claim := allocation.choose(agent):
                offer = self._offer(agent, *claim)
                allocation.note(claim, offer.resources)
                made.setdefault(claim[0].id, []).append(offer)
        return made

    def _offer(self, agent: Agent, framework: Framework, role: str) -> Offer:
        offer_id = f"{self._master_id}-O{self._made}"
        offer = Offer(offer_id, framework.id, agent.id, role, agent.free)
        agent.offers[offer_id] = offer
        self._made += 1
        framework.offers_made += 1
        return offer

    def of(self, framework: Framework) -> list[Offer]:
        offers = (offer for agent in self._agents.values() for offer in agent.offers.values())
        return [offer for offer in offers if offer.framework_id == framework.id]

    def drop(self, offer: Offer) -> None:
        del self._agents[offer.agent_id].offers[offer.id]

    def refuse(self, offer: Offer, what: Resources, seconds: float | None, now: float) -> None:
        """Do not offer *what*, or less, to its framework again for so long."""
        if seconds is None or seconds < 0:
            seconds = self._timing.default_refusal
        until = now + max(seconds, self._timing.allocation_interval)
        refusal = Filter(offer.role, offer.agent_id, what, until)
        self._frameworks[offer.framework_id].filters.append(refusal)

    def revive(self, framework: Framework, roles: Iterable[str]) -> None:
        chosen = set(roles)
        framework.suppressed -= chosen
        framework.filters = [f for f in framework.filters if f.role not in chosen]

    def forget(self, framework: Framework, agent: Agent) -> None:
        """Nothing of an agent that was lost is held against it when it is back."""
        framework.filters = [f for f in framework.filters if f.agent_id != agent.id]

    def _claims(self) -> Iterator[Claim]:
        for framework in self._frameworks.values():
            if framework.stream is not None:
                yield from (
                    (framework, r) for r in framework.roles if r not in framework.suppressed
                )


class Allocation:
    """One look at all agents: what is the same for each of them is added up once."""

    def __init__(self, claims: Sequence[Claim], agents: Collection[Agent]) -> None:
        self._claims, self._agents = claims, agents
        self._refused: dict[tuple[str, str, str], list[Resources]] = {}
        self._wealth: tuple[Resources, dict[Key, Resources]] | None = None
        for framework in {framework.id: framework for framework, _ in claims}.values():
            for each in framework.filters:
                key = (framework.id, each.role, each.agent_id)
                self._refused.setdefault(key, []).append(each.refused)

    def choose(self, agent: Agent) -> Claim | None:
        """Of those who may have what is free on *agent* and want it, the one with the least."""
        if not (agent.reachable and (free := agent.free)):
            return None
        wanted = [claim for claim in self._claims if self._is_wanted(claim, agent, free)]
        return wanted[0] if len(wanted) == 1 else min(wanted, key=self._rank, default=None)

    def note(self, claim: Claim, what: Resources) -> None:
        """It was offered this, and has so much more than before."""
        if self._wealth is not None:
            held, key = self._wealth[1], _key(*claim)
            held[key] = held.get(key, Resources()) + what

    def _is_wanted(self, claim: Claim, agent: Agent, free: Resources) -> bool:
        """A filter holds back only what is not bigger than what was refused."""
        framework, role = claim
        if not (_may(framework, agent) and _is_enough(claim, free)):
            return False
        refused = self._refused.get((framework.id, role, agent.id), ())
        return not any(each.covers(free) for each in refused)

    def _rank(self, claim: Claim) -> tuple[float, int]:
        if self._wealth is None:
            self._wealth = total(a.resources for a in self._agents), _held(self._agents)
        whole, held = self._wealth
        share = held.get(_key(*claim), Resources()).dominant_share(whole)
        return share, claim[0].offers_made


def _key(framework: Framework, role: str) -> Key:
    return framework.id, role


def _held(agents: Iterable[Agent]) -> dict[Key, Resources]:
    """What is held in each role of each framework, by its tasks and its offers."""
    held: dict[Key, Resources] = {}
    for agent in agents:
        for holder in agent.holders:
            key = (holder.framework_id, holder.role)
            held[key] = held.get(key, Resources()) + holder.resources
    return held


def _is_enough(claim: Claim, free: Resources) -> bool:
    """Is it worth an offer? A framework may say for each role what is the least, or leave it."""
    framework, role = claim
    filters = framework.info.get("offer_filters", {}).get(role, {})
    if "min_allocatable_resources" not in filters:
        return free.scalar("cpus") >= _MIN_CPUS or free.scalar("mem") >= _MIN_MEM
    alternatives = filters["min_allocatable_resources"].get("quantities", [])
    return not alternatives or any(_holds(free, one.get("quantities", {})) for one in alternatives)


def _holds(free: Resources, quantities: Json) -> bool:
    return all(free.scalar(name) >= least["value"] for name, least in quantities.items())


def _may(framework: Framework, agent: Agent) -> bool:
    return framework.can("GPU_RESOURCES") or not agent.resources.scalar("gpus")
