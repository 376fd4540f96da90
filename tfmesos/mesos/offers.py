"""Offers of Mesos, and what is still free of them on an agent.

Pure: it talks to nobody and changes nothing it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..config.constraints import Node, text_of
from ..config.job import Resources, Task
from ..json_types import Json
from ..record import NOTHING, Record
from ..sanitize import plain
from .json_values import number, seconds, text, whole

HORIZON = 3600.0  # seconds; what is planned for later does not concern a run that tells no length


class Entry(Record):
    """One entry of an offer's resources; of one name there may be several (reserved or not)."""

    name: str
    amount: int  # thousandths; for ports the number of ports
    json: Json
    ports: tuple[tuple[int, int], ...] = ()  # first and last of each range

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
        """Is its node there for as long as most runs take?"""
        return self.down_in is None or self.down_in >= HORIZON

    @property
    def total(self) -> Resources:
        return _total(self.entries)

    @property
    def node(self) -> Node:
        return Node(self.hostname, self.attributes)


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
    """A task's place: the very resources it takes from the offers of one agent."""

    task: Task
    resources: tuple[Json, ...]
    port: int | None

    @property
    def gpu_ids(self) -> tuple[str, ...]:
        """The very GPUs, if the agent offers them by name (as a SET)."""
        gpus = (part for part in self.resources if part["name"] == "gpus")
        return tuple(item for part in gpus for item in part.get("set", {}).get("item", ()))


class Agent:
    """What is still free on an agent, entry by entry."""

    def __init__(self, offers: Sequence[Offer]) -> None:
        self.id, self.hostname = offers[0].agent_id, offers[0].hostname
        self.offers = offers
        self.seats: list[Seat] = []
        entries = [entry for offer in offers for entry in offer.entries]
        # Reserved resources are of no use to others: take them first.
        self._entries = sorted(entries, key=lambda entry: not entry.is_reserved)
        self._left = [entry.amount for entry in self._entries]
        self._has_ports = any(entry.name == "ports" for entry in entries)
        self.free = _total(entries)
        self.has_gpus = self.free.gpus > 0

    @property
    def node(self) -> Node:
        return self.offers[0].node

    def shortage(self, needs: Resources) -> str:
        lacking = self.free.shortage(needs)
        if not lacking and self._has_ports and not self._ports_left():
            return "no port left"
        return lacking

    def room(self, needs: Resources) -> int:
        """For how many tasks of this size."""
        if self.shortage(needs):
            return 0
        room = self.free.times(needs)
        return min(room, self._ports_left()) if self._has_ports else room

    def seat(self, task: Task) -> None:
        needs = task.job.needs
        taken = [part for name, amount in needs.named() for part in self._take(name, amount)]
        port = None
        if self._has_ports:
            port, part = self._take_port()
            taken.append(part)
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

    def _take_port(self) -> tuple[int, Json]:
        for i, entry in enumerate(self._entries):
            if entry.name == "ports" and self._left[i]:
                port = _nth_port(entry.ports, entry.amount - self._left[i])
                self._left[i] -= 1
                ranges = {"range": [{"begin": port, "end": port}]}
                return port, {**entry.json, "ranges": ranges}
        raise LookupError("no port left")  # shortage() was not asked first


def _nth_port(ranges: Iterable[tuple[int, int]], n: int) -> int:
    for first, last in ranges:
        if n <= last - first:
            return first + n
        n -= last - first + 1
    raise LookupError("no such port")
