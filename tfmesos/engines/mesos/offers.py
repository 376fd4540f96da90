"""Offers of Mesos, and what is still free on each agent.

Pure: it does no I/O and does not change its arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...config.constraints import Node, text_of
from ...config.job import Job, Resources, Task
from ...json_types import Json
from ...record import NOTHING, Record
from ...sanitize import plain
from .api.json_values import number, seconds, text, whole

HORIZON = 3600.0  # seconds; what is planned for later does not concern a run of unknown length
NO_PORT = "no port left"


class Entry(Record):
    """One entry of an offer's resources; of one name there may be several (reserved or not)."""

    name: str
    amount: int  # thousandths; for ports the number of ports
    json: Json
    ports: tuple[tuple[int, int], ...] = ()  # first and last of each range

    def has_port(self, port: int) -> bool:
        return any(first <= port <= last for first, last in self.ports)

    @property
    def is_reserved(self) -> bool:
        return bool(self.json.get("reservations")) or self.json.get("role", "*") != "*"


class Offer(Record):
    id: str
    agent_id: str
    hostname: str
    entries: tuple[Entry, ...]
    attributes: Mapping[str, str] = NOTHING
    agent_url: str = ""  # of the agent's own HTTP endpoints
    down_in: float | None = (
        None  # seconds until its operator takes the node down, if that is planned
    )

    @classmethod
    def from_json(cls, offer: Json, wall: float = 0.0) -> Offer:
        """The offer as it came at the time *wall*, in seconds since 1970."""
        return cls(
            id=text(offer["id"]["value"]),
            agent_id=text(offer["agent_id"]["value"]),
            hostname=plain(text(offer.get("hostname", offer["agent_id"]["value"]))),
            entries=tuple(_entries(offer.get("resources", ()))),
            attributes={text(a["name"]): text_of(a) for a in offer.get("attributes", ())},
            agent_url=_url(offer.get("url", {})),
            down_in=_down_in(offer.get("unavailability"), wall),
        )

    @property
    def is_lasting(self) -> bool:
        """Will its node stay for as long as most runs take?"""
        return self.down_in is None or self.down_in >= HORIZON

    @property
    def total(self) -> Resources:
        return _total(self.entries)

    @property
    def node(self) -> Node:
        return Node(self.hostname, self.attributes)


class InverseOffer(Record):
    """The operator asks for an agent."""

    id: str
    agent_id: str
    down_in: float | None  # seconds until the maintenance begins; None: it is over

    @classmethod
    def from_json(cls, offer: Json, wall: float = 0.0) -> InverseOffer:
        """As it came at the time *wall*, in seconds since 1970."""
        return cls(
            id=text(offer["id"]["value"]),
            agent_id=text(offer.get("agent_id", {}).get("value", "")),
            down_in=_down_in(offer.get("unavailability"), wall),
        )


def _entries(resources: Iterable[Json]) -> Iterator[Entry]:
    for resource in resources:
        if "revocable" in resource or "disk" in resource or "shared" in resource:
            continue  # may be taken away at any time, or holds somebody's data
        name = text(resource["name"])
        text(resource.get("role", "*"))
        text(resource.get("allocation_info", {}).get("role", ""))
        if "scalar" in resource:
            yield Entry(name, round(number(resource["scalar"]["value"]) * 1000), resource)
        elif "ranges" in resource:
            ranges = tuple(_range(r) for r in resource["ranges"].get("range", ()))
            size = sum(last - first + 1 for first, last in ranges)
            yield Entry(name, size, resource, ranges)
        elif "set" in resource and name == "gpus":
            yield Entry(
                name, 1000 * len(list(map(text, resource["set"].get("item", ())))), resource
            )


def _range(given: Json) -> tuple[int, int]:
    first, last = whole(given["begin"]), whole(given["end"])
    if first > last:
        raise ValueError(f"a range from {first} to {last}")
    return first, last


def _url(url: Json) -> str:
    address = url.get("address", {})
    host = text(address.get("ip") or address.get("hostname", ""))
    host = f"[{host}]" if ":" in host else host
    scheme = "https" if url.get("scheme") == "https" else "http"
    return f"{scheme}://{host}:{whole(address['port'])}" if host else ""


def _down_in(plan: Json | None, wall: float) -> float | None:
    if plan is None:
        return None
    start = seconds(plan["start"]) - wall
    is_over = "duration" in plan and start + seconds(plan["duration"]) <= 0
    return None if is_over else max(0.0, start)


def _total(entries: Iterable[Entry]) -> Resources:
    sums = dict.fromkeys(Resources._fields, 0)
    for entry in entries:
        if entry.name in sums:
            sums[entry.name] += entry.amount
    return Resources(**sums)


class Seat(Record):
    """A task's place: exactly the resources that it takes from the offers of one agent."""

    task: Task
    resources: tuple[Json, ...]
    port: int | None

    @property
    def other_port(self) -> str:
        """A remark if it is not the port that the task asked for; else nothing."""
        wanted = self.task.job.wanted_port
        if not wanted or self.port in (None, wanted):
            return ""
        return f"{self.task.name} has port {self.port}: its node does not offer {wanted}"

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        """The ids of its GPUs, if the agent offers them by name (as a SET)."""
        gpus = (part for part in self.resources if part["name"] == "gpus")
        return tuple(item for part in gpus for item in part.get("set", {}).get("item", ()))


class Agent:
    """What is still free on an agent, entry by entry."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.id = offers[0].agent_id
        self.hostname = offers[0].hostname
        self.offers = offers
        self.seats: list[Seat] = []
        entries = [entry for offer in offers for entry in offer.entries]
        # Reserved resources are of no use to others: take them first.
        self._entries = sorted(entries, key=lambda entry: not entry.is_reserved)
        self._left = [entry.amount for entry in self._entries]
        self._has_ports = any(entry.name == "ports" for entry in entries)
        self._taken: set[int] = set()  # ports
        self._next_port = [0] * len(entries)  # of each entry, counted from its first
        self.free = _total(entries)
        self.has_gpus = self.free.gpus > 0

    @property
    def node(self) -> Node:
        return self.offers[0].node

    def shortage(self, job: Job) -> str:
        """What a task of *job* lacks here, in words; empty if there is room for one."""
        lacking = self.free.shortage(job.needs)
        if not lacking and self._has_ports and not self._ports_left():
            return NO_PORT
        if not lacking and job.insists_on_port and not self._may_have(job.wanted_port):
            return f"no port {job.wanted_port}"
        return lacking

    def room(self, job: Job) -> int:
        """For how many tasks of *job*."""
        if self.shortage(job):
            return 0
        if job.insists_on_port:
            return 1
        room = self.free.times(job.needs)
        return min(room, self._ports_left()) if self._has_ports else room

    def seat(self, task: Task) -> None:
        needs = task.job.needs
        taken = [part for name, amount in needs.named() for part in self._take(name, amount)]
        port = None
        if self._has_ports:
            port, part = self._take_port(task.job.wanted_port)
            taken.append(part)
        self._taken.add(port or task.job.wanted_port)
        self.free = self.free.minus(needs)
        self.seats.append(Seat(task, tuple(taken), port))

    def _take(self, name: str, amount: int) -> Iterator[Json]:
        for i, entry in enumerate(self._entries):
            part = min(amount, self._left[i]) if entry.name == name else 0
            if part > 0:
                amount -= part
                yield self._cut(entry, self._left[i], part)
                self._left[i] -= part

    @staticmethod
    def _cut(entry: Entry, left: int, part: int) -> Json:
        if "set" not in entry.json:
            return {**entry.json, "scalar": {"value": part / 1000}}
        first = (entry.amount - left) // 1000
        items = entry.json["set"]["item"][first : first + part // 1000]
        return {**entry.json, "set": {"item": items}}

    def _ports_left(self) -> int:
        pairs = zip(self._entries, self._left, strict=True)
        return sum(left for entry, left in pairs if entry.name == "ports")

    def _may_have(self, port: int) -> bool:
        """An agent that offers no ports at all leaves them to whoever comes first."""
        is_there = not self._has_ports or any(entry.has_port(port) for entry in self._entries)
        return is_there and port not in self._taken

    def _take_port(self, wanted: int) -> tuple[int, Json]:
        """The port that is *wanted*, if it is available, else the first free one."""
        is_had = bool(wanted) and self._may_have(wanted)
        for i, entry in enumerate(self._entries):
            if entry.name == "ports" and self._left[i] and (not is_had or entry.has_port(wanted)):
                port = wanted if is_had else self._first_free(i)
                self._left[i] -= 1
                ranges = {"range": [{"begin": port, "end": port}]}
                return port, {**entry.json, "ranges": ranges}
        raise LookupError(NO_PORT)  # shortage() was not asked first

    def _first_free(self, i: int) -> int:
        """Of an entry: ports are taken in order, except those that somebody asked for."""
        entry = self._entries[i]
        while self._next_port[i] < entry.amount:
            port = _nth_port(entry.ports, self._next_port[i])
            self._next_port[i] += 1
            if port not in self._taken:
                return port
        return entry.ports[0][0]  # a port was offered twice


def _nth_port(ranges: Iterable[tuple[int, int]], n: int) -> int:
    for first, last in ranges:
        if n <= last - first:
            return first + n
        n -= last - first + 1
    raise LookupError("no such port")
