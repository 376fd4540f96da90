"""Which tasks go on which agents, and the reason when they do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...config.constraints import Node
from ...config.job import Job, Resources, Task
from ...record import Record
from .offers import NO_PORT, Agent, Offer, Seat
from .spread import Wish, admitted, barrier, choose, obstacle


class AgentLoad(Record):
    """An agent that gets tasks, and the offers their resources are cut from."""

    agent_id: str
    hostname: str
    agent_url: str
    offers: Sequence[Offer]
    seats: Sequence[Seat]

    @property
    def node(self) -> Node:
        return self.offers[0].node

    @property
    def is_lasting(self) -> bool:
        return all(offer.is_lasting for offer in self.offers)

    @property
    def down_in(self) -> float | None:
        """Seconds until its maintenance; None if none is scheduled."""
        times = (offer.down_in for offer in self.offers)
        return min((time for time in times if time is not None), default=None)


class Placement(Record):
    """Every offer given to `place` is in exactly one of ``loads`` and ``unused``."""

    loads: Sequence[AgentLoad]
    unused: Sequence[Offer]
    unplaced: Sequence[Task]
    free: Resources  # what is left on all agents together
    obstacles: Mapping[str, str]  # job -> constraint in its way
    without_port: Sequence[str]  # hosts that have everything for another task except a port

    @property
    def placed(self) -> int:
        return sum(len(load.seats) for load in self.loads)


Kind = tuple[Resources, int, str]  # what tasks need, the port they insist on, their job
Seated = Sequence[tuple[Task, Node]]  # tasks that were placed before, and where they are


def place(tasks: Sequence[Task], offers: Sequence[Offer], seated: Seated = ()) -> Placement:
    """Give each task a place, largest tasks first, first agent that fits.

    Tasks without gpus look at agents without gpus first, so that GPUs stay free for those
    who need them. With constraints that order may leave a task without a place that another
    order has one for, so others are tried, too.
    """
    groups = _by_size(tasks)
    is_constrained = any(group[0].job.constraints for group in groups)
    best: _Attempt | None = None
    for order in _ORDERS if is_constrained and len(groups) > 1 else _ORDERS[:1]:
        attempt = _Attempt(groups, offers, seated, order)
        if best is None or len(attempt.unplaced) < len(best.unplaced):
            best = attempt
        if not best.unplaced:
            break
    assert best is not None
    return best.placement()


class _Order(Record):
    constrained_first: bool
    smallest_agents_first: bool


_ORDERS = [_Order(first, small) for first in (False, True) for small in (False, True)]


class _Attempt:
    """An attempt to place the tasks in one order."""

    def __init__(
        self, groups: list[list[Task]], offers: Sequence[Offer], seated: Seated, order: _Order
    ) -> None:
        self._agents = [Agent(group) for group in _by_agent(offers)]
        if order.smallest_agents_first:
            self._agents.sort(key=lambda agent: agent.free)
        self._seated = seated
        self.unplaced: list[Task] = []
        self.obstacles: dict[str, str] = {}
        if order.constrained_first:
            groups = sorted(groups, key=self._choice)
        for group in groups:
            self._seat(group)

    def placement(self) -> Placement:
        loads = [
            AgentLoad(a.id, a.hostname, a.offers[0].agent_url, a.offers, a.seats)
            for a in self._agents
            if a.seats
        ]
        unused = [offer for agent in self._agents if not agent.seats for offer in agent.offers]
        free = Resources.sum(agent.free for agent in self._agents)
        return Placement(loads, unused, self.unplaced, free, self.obstacles, self._without_port())

    def _without_port(self) -> list[str]:
        if not self.unplaced:
            return []
        job = self.unplaced[0].job
        return [agent.hostname for agent in self._agents if agent.shortage(job) == NO_PORT]

    def _choice(self, group: Sequence[Task]) -> int:
        """How many agents these tasks can choose from."""
        constraints = group[0].job.constraints
        if not constraints:
            return len(self._agents) + 1
        return sum(admitted(constraints, [agent.node for agent in self._agents]))

    def _seat(self, group: list[Task]) -> None:
        job = group[0].job
        if job.constraints:
            self._seat_constrained(job, group)
        else:
            self.unplaced += _seat_all(group, self._agents)

    def _seat_constrained(self, job: Job, group: list[Task]) -> None:
        agents = self._agents if job.needs.gpus else _without_gpus_first(self._agents)
        nodes = [agent.node for agent in agents]
        wish = _wish(job, len(group), self._seated)
        found = choose(wish, nodes, [agent.room(job) for agent in agents])
        for task, i in zip(group, found, strict=False):
            agents[i].seat(task)
        if waiting := group[len(found) :]:
            self.unplaced += waiting
            rooms = [agent.room(job) for agent in agents]
            if reason := obstacle(wish, nodes, rooms, [nodes[i] for i in found]):
                self.obstacles[job.name] = f"{waiting[0].name}: {reason}"


def _wish(job: Job, wanted: int, seated: Seated) -> Wish:
    fellows = [node for task, node in seated if task.job.name == job.name]
    return Wish(job.constraints, wanted, fellows, max(0, job.size - wanted - len(fellows)))


def _without_gpus_first(agents: list[Agent]) -> list[Agent]:
    return sorted(agents, key=lambda agent: agent.has_gpus)


class Sieve:
    """Separates offers that one of the tasks could use from those that none could."""

    def __init__(self, tasks: Iterable[Task], seated: Seated = ()) -> None:
        kinds = {kind(task): task for task in reversed(list(tasks))}
        self._tasks = [(task, barrier(_wish(task.job, 1, seated))) for task in kinds.values()]

    def useless(self, offer: Offer) -> str:
        """Why none of the tasks could run on this offer alone; empty if one could."""
        agent, reason = Agent([offer]), "no task is waiting"
        for task, barred_by in self._tasks:
            if shortage := agent.shortage(task.job):
                reason = f"too small for {task.name}: {shortage}"
            elif task.job.constraints and (constraint := barred_by(agent.node)):
                reason = f"not for {task.name}: {constraint}"
            else:
                return ""
        return reason


def _by_agent(offers: Iterable[Offer]) -> Iterable[list[Offer]]:
    """Offers that may go into one ACCEPT: those of one agent, for one role."""
    groups: dict[tuple[str, str], list[Offer]] = {}
    for offer in offers:
        groups.setdefault((offer.agent_id, _allocated_role(offer)), []).append(offer)
    return groups.values()


def _allocated_role(offer: Offer) -> str:
    roles = (entry.json.get("allocation_info", {}).get("role") for entry in offer.entries)
    return next((role for role in roles if role), "")


def kind(task: Task) -> Kind:
    """Tasks of one kind are all the same to an agent; constraints hold within a job."""
    insisted = task.job.wanted_port if task.job.insists_on_port else 0
    return task.job.needs, insisted, task.job.name if task.job.constraints else ""


def _by_size(tasks: Iterable[Task]) -> list[list[Task]]:
    groups: dict[Kind, list[Task]] = {}
    for task in tasks:
        groups.setdefault(kind(task), []).append(task)
    # Whoever insists on a port goes first: another one might take it.
    sizes = sorted(groups, key=lambda k: (k[1] > 0, k[0].gpus, k[0].mem, k[0].cpus), reverse=True)
    return [groups[size] for size in sizes]


def _seat_all(tasks: list[Task], agents: list[Agent]) -> list[Task]:
    """Seat tasks of one size; an agent that cannot take one of them cannot take the next."""
    job = tasks[0].job
    waiting = iter(tasks)
    task = next(waiting, None)
    for agent in agents if job.gpus else _without_gpus_first(agents):
        while task is not None and not agent.shortage(job):
            agent.seat(task)
            task = next(waiting, None)
    return [] if task is None else [task, *waiting]
