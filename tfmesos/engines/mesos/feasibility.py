"""Finds out what can never be placed, from all resources of the agents that a master knows.

Resources that others use now count, because they may be freed; so "never" holds until another agent
joins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...config.constraints import Node, canonical, number_text
from ...config.job import Job, Resources, Task
from ...json_types import Json
from ...record import Record
from .actions import CountAgents
from .api.json_values import number, text
from .spread import Wish, admitted, choose, obstacle

ASK_AFTER = 1.0  # seconds without a place for every task; most runs have theirs by then
ASK_EVERY = 60.0  # seconds until agents that have left, or have yet to return, are noticed


class AgentQuery:
    """When to ask the master for its agents: the wait may be for nothing."""

    def __init__(self) -> None:
        self.deadline: float | None = None
        self.is_open = True

    def begin(self, now: float) -> None:
        if self.is_open and self.deadline is None:
            self.deadline = now + ASK_AFTER

    def ask(self, now: float) -> list[CountAgents]:
        self.deadline = now + ASK_EVERY
        return [CountAgents()]

    def close(self) -> None:
        """There was a place for every task once, so there may be again."""
        self.deadline = None
        self.is_open = False


class KnownAgent(Record):
    node: Node
    total: Resources
    ports: tuple[tuple[int, int], ...] | None = None  # first and last of each range, if it has any
    id: str = ""
    used: Resources = Resources()  # by anybody's tasks, now
    is_active: bool = True  # are its resources offered?

    def room(self, job: Job) -> int:
        """For how many tasks of *job*, if nothing else ran there."""
        room = self.total.times(job.needs)
        if not job.insists_on_port:
            return min(room, self.port_count) if self.ports else room
        return min(room, 1) if self.has_port(job.wanted_port) else 0

    @property
    def port_count(self) -> int:
        """Every task takes a port, unless the agent has none to offer."""
        return sum(last - first + 1 for first, last in self.ports or ())

    def has_port(self, port: int) -> bool:
        """An agent without ports leaves them to whoever comes first."""
        return self.ports is None or any(first <= port <= last for first, last in self.ports)


def parse(body: Json, role: str) -> tuple[KnownAgent, ...]:
    """The agents of /slaves that *role* can use; none if some have yet to return to a master."""
    if body.get("recovered_slaves"):
        return ()
    return tuple(
        KnownAgent(
            Node(
                text(agent["hostname"]),
                {name: _attribute(value) for name, value in agent.get("attributes", {}).items()},
            ),
            _usable(agent, role),
            _ports(agent["resources"].get("ports")),
            text(agent.get("id", "")),
            _amounts(agent.get("used_resources", {})),
            agent.get("active") is not False and agent.get("deactivated") is not True,
        )
        for agent in body["slaves"]
    )


def _ports(ranges: Any) -> tuple[tuple[int, int], ...] | None:
    """Of a text such as ``[31000-31999, 33000-33999]``."""
    if ranges is None:
        return None
    pairs = re.findall(r"([0-9]{1,5})-([0-9]{1,5})", text(ranges))
    return tuple((int(first), int(last)) for first, last in pairs)


def _attribute(value: object) -> str:
    return number_text(value) if isinstance(value, int | float) else canonical(str(value))


def _usable(agent: Json, role: str) -> Resources:
    """Everything that is not reserved for others. What we may not see counts as ours."""
    total = _amounts(agent["resources"])
    for owner, reserved in agent.get("reserved_resources", {}).items():
        if role != owner and not role.startswith(f"{owner}/"):
            total = total.minus(_amounts(reserved))
    return total


def _amounts(summary: Json) -> Resources:
    return Resources.of(**{name: _number(summary.get(name, 0)) for name in Resources._fields})


def _number(amount: Any) -> float:
    """A scalar; or, of a set such as ``{a, b}``, how many there are."""
    if not isinstance(amount, str):
        return number(amount)
    return len([item for item in amount.strip("{}").split(",") if item.strip()])


def free(
    agents: Sequence[KnownAgent], own: Sequence[tuple[str, Resources]]
) -> tuple[KnownAgent, ...]:
    """The agents with what is free on them; *own* is what tasks of ours use, by agent id."""
    found = []
    for agent in filter(lambda agent: agent.is_active, agents):
        ours = Resources.sum(used for agent_id, used in own if agent_id == agent.id)
        left = agent.total.minus(_at_least_zero(agent.used.minus(ours)))
        found.append(agent.replace(total=_at_least_zero(left)))
    return tuple(found)


def _at_least_zero(amounts: Resources) -> Resources:
    """The master may not know yet what has just ended or started."""
    return Resources(*(max(0, amount) for amount in amounts))


class Holder(Record):
    """Another framework, and what its tasks use now."""

    name: str
    user: str
    holds: Resources
    seconds: float  # since it came


def holders(body: Json, own_id: str | None, wall: float) -> tuple[Holder, ...]:
    """The answer of /frameworks, of all but our own, at the time *wall*: the largest first."""
    found = [
        Holder(
            text(framework["name"]),
            text(framework.get("user", "")),
            _amounts(framework["used_resources"]),
            max(0.0, wall - number(framework.get("registered_time", wall))),
        )
        for framework in body["frameworks"]
        if text(framework["id"]) != own_id
    ]
    return tuple(sorted((h for h in found if any(h.holds)), key=lambda h: h.holds, reverse=True))


def never(tasks: Sequence[Task], agents: Sequence[KnownAgent]) -> str:
    """Why these agents can never hold all the tasks at once; empty if they might."""
    if not agents:
        return ""  # they may be about to join
    jobs: dict[str, list[Task]] = {}
    for task in tasks:
        jobs.setdefault(task.job.name, []).append(task)
    reasons = (_job_never(group[0].job, group, agents) for group in jobs.values())
    return next(filter(None, reasons), "") or _all_never(tasks, agents)


def _job_never(job: Job, tasks: Sequence[Task], agents: Sequence[KnownAgent]) -> str:
    nodes = [agent.node for agent in agents]
    if job.insists_on_port and not any(agent.has_port(job.wanted_port) for agent in agents):
        return f"{tasks[0].name} requires port {job.wanted_port}, which no agent offers"
    rooms = [agent.room(job) for agent in agents]
    allowed = admitted(job.constraints, nodes)
    if not any(allowed):
        wish = Wish(job.constraints, len(tasks))
        return f"{tasks[0].name}: {obstacle(wish, nodes, [1] * len(nodes), agent='agent')}"
    if not any(room for room, may in zip(rooms, allowed, strict=True) if may):
        able = [agent for agent, may in zip(agents, allowed, strict=True) if may]
        return f"{tasks[0].name} needs {job.needs}; {_too_small(job, able)}"
    return _too_many(job, tasks, nodes, rooms, f"{job.needs}{_port(job, agents)}")


def _port(job: Job, agents: Sequence[KnownAgent]) -> str:
    """Which port a task needs, if some agent would have room for more tasks without it."""
    if all(agent.room(job) == agent.total.times(job.needs) for agent in agents):
        return ""
    return f", port {job.wanted_port}" if job.insists_on_port else ", a port"


def _too_small(job: Job, agents: Sequence[KnownAgent]) -> str:
    lacking = list(_maxima(job.needs, agents))
    best = max(agents, key=lambda agent: agent.total)
    has = ", ".join(lacking) or f"all of that; the largest has {best.total} ({best.node.hostname})"
    meets = f" that meets {' and '.join(map(str, job.constraints))}" if job.constraints else ""
    return f"no agent{meets} has {'more than ' if lacking else ''}{has}"


def _maxima(needs: Resources, agents: Sequence[KnownAgent]) -> Iterator[str]:
    """For each resource that no agent has enough of, the most that any agent has."""
    for i, (name, need) in enumerate(needs.named()):
        best = max(agents, key=lambda agent: agent.total[i])
        if best.total[i] < need:
            yield f"{name} {best.total[i] / 1000:.10g} ({best.node.hostname})"


def _too_many(
    job: Job, tasks: Sequence[Task], nodes: Sequence[Node], rooms: Sequence[int], each: str
) -> str:
    """One constraint at a time: for several together, nothing is certain."""
    fixed = [constraint for constraint in job.constraints if constraint.is_fixed]
    others = [[c] for c in job.constraints if not c.is_fixed]
    for constraints in others or [[]]:
        wish = Wish([*fixed, *constraints], len(tasks))
        found = choose(wish, nodes, rooms)
        if len(found) < len(tasks):
            left = list(rooms)
            for i in found:
                left[i] -= 1
            why = obstacle(wish, nodes, left, [nodes[i] for i in found], "other agent")
            why = why or f"all agents together have room for {len(found)} of {len(tasks)}"
            return f"{tasks[len(found)].name}: {why} (each needs {each})"
    return ""


def _all_never(tasks: Sequence[Task], agents: Sequence[KnownAgent]) -> str:
    needs = Resources.sum(task.job.needs for task in tasks)
    there = Resources.sum(agent.total for agent in agents)
    lacking = there.shortage(needs) or _too_few_ports(len(tasks), agents)
    return lacking and (
        f"all {len(tasks)} tasks together need more than the {len(agents)} agents have: {lacking}"
    )


def _too_few_ports(tasks: int, agents: Sequence[KnownAgent]) -> str:
    ports = sum(agent.port_count for agent in agents)
    return f"ports {ports} < {tasks}" if ports < tasks and all(a.ports for a in agents) else ""
