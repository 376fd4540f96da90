"""Plays a recording of a genuine Mesos to a LocalMesos, ten times as fast, and compares.

What is compared: status codes, header names and texts of responses; order and shape of the
updates of every task (state, reason, source, message, which fields there are); ERROR, RESCIND
and FAILURE; how streams end; that offers of the same size come. Ids, uuids, pids and dates are
translated. Offers may be cut differently: a recorded offer may be several live ones together.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.mesos.embedded import AgentConfig, LocalMesos, Timing

from .wire import Connection, Json, Scheduler, appearance

SCALE = 0.1
TIMING = Timing(
    heartbeat=1.5, resend=1.0, default_refusal=0.5, allocation_interval=0.0, kill_grace=0.3
)
RECORDINGS = Path(__file__).parent / "transcripts"

Action = Callable[[LocalMesos, "Player"], object]


@dataclass
class Scenario:
    name: str
    until: str | None = None  # stop at the note with these words
    actions: dict[str, Action] = field(default_factory=dict)  # at a note, or an event of that type
    ignored_tasks: frozenset[str] = frozenset()  # launched, but their updates are not compared
    ignored_fields: frozenset[str] = frozenset()  # of updates
    commands: dict[str, str] = field(default_factory=dict)  # instead of the recorded ones
    skipped_notes: tuple[str, ...] = ()  # the one exchange after each of these is left out
    credential: tuple[str, str] | None = None
    grace_scale: float = SCALE  # engines are slow to kill


def play(scenario: Scenario) -> None:
    asyncio.run(_play(scenario))


async def _play(scenario: Scenario) -> None:
    lines = list(_lines(scenario))
    agents = _agents(lines)
    async with LocalMesos(agents, timing=TIMING, credential=scenario.credential) as mesos:
        await Player(scenario, mesos).play(lines)


def _lines(scenario: Scenario) -> Iterator[Json]:
    skipping = False
    for line in map(json.loads, (RECORDINGS / f"{scenario.name}.jsonl").read_text().splitlines()):
        if line["dir"] == "note":
            if scenario.until and scenario.until in line["note"]:
                return
            skipping = any(words in line["note"] for words in scenario.skipped_notes)
        if not skipping:
            yield line


def _agents(lines: list[Json]) -> list[AgentConfig]:
    """The agents of the recording, made from the biggest offer of each."""
    biggest: dict[str, Json] = {}
    for offer in _offers(lines):
        known = biggest.get(offer["hostname"])
        if known is None or amounts([offer])["cpus"] > amounts([known])["cpus"]:
            biggest[offer["hostname"]] = offer
    names = sorted(biggest)
    return [AgentConfig(n, _resources(biggest[n]), _attributes(biggest[n])) for n in names]


def _offers(lines: list[Json]) -> Iterator[Json]:
    for line in lines:
        if line["dir"] == "event" and line["event"]["type"] == "OFFERS":
            yield from line["event"]["offers"]["offers"]


def _resources(offer: Json) -> str:
    return ";".join(f"{entry['name']}:{_amount(entry)}" for entry in offer["resources"])


def _amount(entry: Json) -> str:
    if entry["type"] == "RANGES":
        return f"[{','.join('{begin}-{end}'.format(**r) for r in entry['ranges']['range'])}]"
    if entry["type"] == "SET":
        return "{" + ",".join(entry["set"]["item"]) + "}"
    return str(entry["scalar"]["value"])


def _attributes(offer: Json) -> str:
    return ";".join(f"{a['name']}:{_attribute(a)}" for a in offer.get("attributes", []))


def _attribute(attribute: Json) -> str:
    if attribute["type"] == "TEXT":
        return str(attribute["text"]["value"])
    return _amount(attribute)


def amounts(offers: list[Json]) -> dict[str, Any]:
    """The resources of these offers of one agent together."""
    result: dict[str, Any] = {}
    for entry in (entry for offer in offers for entry in offer["resources"]):
        name, kind = entry["name"], entry["type"]
        if kind == "SCALAR":
            result[name] = round(result.get(name, 0) + entry["scalar"]["value"], 3)
        elif kind == "RANGES":
            ports = {p for r in entry["ranges"]["range"] for p in range(r["begin"], r["end"] + 1)}
            result[name] = result.get(name, set()) | ports
        else:
            result[name] = result.get(name, set()) | set(entry["set"]["item"])
    return result


class Player:
    def __init__(self, scenario: Scenario, mesos: LocalMesos) -> None:
        self.scenario, self.mesos = scenario, mesos
        self.streams: dict[int, Scheduler] = {}
        self.calls: dict[int, Connection] = {}
        self.live: dict[str, str] = {"127.0.0.1:5050": mesos.url.removeprefix("http://")}
        self.offers: dict[str, list[Json]] = {}  # recorded id -> live offers
        self.used: set[str] = set()  # live ids of offers that are matched
        self.seen: dict[tuple[int, str], int] = {}
        self.acknowledged: set[str] = set()  # recorded uuids
        self.trapping: set[str] = set()
        self.done_actions: set[str] = set()
        self.last = 0.0

    async def play(self, lines: list[Json]) -> None:
        responses = [line for line in lines if line["dir"] == "response"]
        try:
            for line in lines:
                await self._pause(line["t"])
                await self._act(line)
                if line["dir"] == "request":
                    await self._request(line, self._response(line, responses))
                elif line["dir"] == "event":
                    await self._event(line["conn"], line["event"])
                elif line["dir"] == "close":
                    await self._close(line)
        finally:
            for stream in self.streams.values():
                stream.close()
            for connection in self.calls.values():
                connection.close()

    async def _pause(self, at: float) -> None:
        """Silence is part of a recording: keep it, ten times shorter."""
        gap, self.last = at - self.last, at
        if gap > 0.45:
            await asyncio.sleep(gap * SCALE)

    async def _act(self, line: Json) -> None:
        text = line.get("note") or line.get("event", {}).get("type", "")
        if line["t"] == 0:
            return  # the title of the recording
        for words, action in self.scenario.actions.items():
            if words in text and words not in self.done_actions:
                self.done_actions.add(words)
                result = action(self.mesos, self)
                if asyncio.iscoroutine(result):
                    await result

    def _response(self, request: Json, responses: list[Json]) -> Json | None:
        for index, response in enumerate(responses):
            if response["conn"] == request["conn"]:
                return responses.pop(index)
        return None

    async def _request(self, line: Json, expected: Json | None) -> None:
        body = line.get("body")
        if isinstance(body, dict):
            acknowledged = body.get("acknowledge", {})
            if acknowledged.get("task_id", {}).get("value") in self._ignored:
                return
            self.acknowledged |= {acknowledged["uuid"]} if acknowledged.get("uuid") else set()
            await self._let_it_trap(body)
            body = self._substituted(self._faster(self._translated_offers(body)))
        if isinstance(body, str):
            body = self._text(body)
        headers = {name: self._text(value) for name, value in line["headers"].items()}
        if expected and dict(expected["headers"]).get("Transfer-Encoding") == "chunked":
            stream = await Scheduler.send_subscribe(self.mesos.url, body, headers, {})
            stream.acknowledges = False
            self.streams[line["conn"]] = stream
            self.live[dict(expected["headers"])["Mesos-Stream-Id"]] = stream.answer.headers[
                "Mesos-Stream-Id"
            ]
            answer = stream.answer
        else:
            if line["conn"] not in self.calls:
                self.calls[line["conn"]] = await Connection.open(self.mesos.url)
            connection = self.calls[line["conn"]]
            where = {"method": line["method"], "path": self._text(line["path"])}
            answer = await connection.request(body, headers, **where)
        if expected:
            self._compare_answers(answer, expected)
        else:
            assert answer.status == 400  # the genuine master crashed

    async def _let_it_trap(self, body: Json) -> None:
        """Do not kill a task before its ``trap`` is set, however busy the machine is."""
        killed = body.get("kill", {}).get("task_id", {}).get("value")
        sandbox = self.mesos.sandbox_of(killed) if killed else None
        if sandbox and killed in self.trapping:
            await appearance(sandbox / "trapped")

    @property
    def _ignored(self) -> frozenset[str]:
        return self.scenario.ignored_tasks

    def _compare_answers(self, answer: Any, expected: Json) -> None:
        assert (answer.status, answer.reason) == (expected["status"], expected["reason"])
        there = {name: value for name, value in expected["headers"] if name != "Date"}
        live = {name: value for name, value in answer.headers.items() if name != "Date"}
        assert live.keys() == there.keys()
        for name in live.keys() - {"Mesos-Stream-Id", "Content-Length"}:
            assert live[name] == self._text(there[name])
        if isinstance(expected.get("body", ""), str):
            assert answer.body == self._text(expected.get("body", ""))

    def _translated_offers(self, body: Json) -> Json:
        for kind in ("accept", "decline"):
            if kind in body:
                named = [o["value"] for o in body[kind]["offer_ids"]]
                live = [o["id"] for n in named for o in self.offers.get(n, [{"id": {"value": n}}])]
                body = {**body, kind: {**body[kind], "offer_ids": live}}
        return body

    def _faster(self, body: Json) -> Json:
        text = json.dumps(body)
        for name in ("refuse_seconds", "failover_timeout"):
            text = re.sub(rf'("{name}": )([\d.]+)', _scaled(SCALE), text)
        text = re.sub(r'("nanoseconds": )(\d+)', _scaled(self.scenario.grace_scale, int), text)
        text = re.sub(r"(sleep )(\d\d?)(?![\d.])", _scaled(SCALE), text)
        text = text.replace(" TERM; while", " TERM; echo > trapped; while")
        body = json.loads(text)
        for operation in body.get("accept", {}).get("operations", []):
            for info in operation["launch"]["task_infos"]:
                name = info["task_id"]["value"]
                if name in self.scenario.commands:
                    info["command"]["value"] = self.scenario.commands[name]
                if "echo > trapped" in info.get("command", {}).get("value", ""):
                    self.trapping.add(name)
        return body

    def _substituted(self, body: Json) -> Json:
        return json.loads(self._text(json.dumps(body)))

    def _text(self, text: str) -> str:
        for recorded in sorted(self.live, key=len, reverse=True):
            text = text.replace(recorded, self.live[recorded])
        return text

    async def _event(self, conn: int, event: Json) -> None:
        kind, stream = event["type"], self.streams[conn]
        if kind == "OFFERS":
            for offer in event["offers"]["offers"]:
                await self._match_offer(stream, offer)
        elif kind == "UPDATE":
            await self._match_update(conn, stream, event["update"]["status"])
        else:
            live = await self._next(conn, kind, lambda: stream.of_type(kind))
            if kind == "SUBSCRIBED":
                self._learn(event["subscribed"], live["subscribed"])
            elif kind == "RESCIND":
                self._check_rescinded(stream, event)
            else:
                assert live == self._substituted(event)

    def _check_rescinded(self, stream: Scheduler, event: Json) -> None:
        rescinded = {e["rescind"]["offer_id"]["value"] for e in stream.of_type("RESCIND")}
        for offer in self.offers[event["rescind"]["offer_id"]["value"]]:
            assert offer["id"]["value"] in rescinded

    async def _next(self, conn: int, key: str, found: Callable[[], list[Json]]) -> Json:
        number = self.seen.get((conn, key), 0)
        self.seen[conn, key] = number + 1
        return await self.streams[conn].until(lambda: found()[number:] and found()[number])

    def _learn(self, recorded: Json, live: Json) -> None:
        assert live.keys() == recorded.keys()
        assert live["master_info"].keys() == recorded["master_info"].keys()
        self.live[recorded["framework_id"]["value"]] = live["framework_id"]["value"]
        self.live[recorded["master_info"]["id"]] = live["master_info"]["id"]

    async def _match_offer(self, stream: Scheduler, recorded: Json) -> None:
        wanted = amounts([recorded])

        def found() -> list[Json] | None:
            fresh = [o for o in stream.offers() if o["id"]["value"] not in self.used]
            fresh = [o for o in fresh if o["hostname"] == recorded["hostname"]]
            exact = [[offer] for offer in fresh if amounts([offer]) == wanted]
            together = [fresh] if fresh and amounts(fresh) == wanted else []
            return next(iter(exact + together), None)

        live = await stream.until(found)
        assert live[0].keys() == recorded.keys()
        assert live[0].get("attributes") == recorded.get("attributes")
        keys = {name: entry.keys() for offer in live for name, entry in _by_name(offer)}
        assert keys == {name: entry.keys() for name, entry in _by_name(recorded)}
        self.used |= {offer["id"]["value"] for offer in live}
        self.offers[recorded["id"]["value"]] = live
        self.live[recorded["id"]["value"]] = live[0]["id"]["value"]
        self.live[recorded["agent_id"]["value"]] = live[0]["agent_id"]["value"]

    async def _match_update(self, conn: int, stream: Scheduler, recorded: Json) -> None:
        task_id = recorded["task_id"]["value"]
        if task_id in self._ignored or recorded.get("uuid") in self.acknowledged:
            return  # a genuine master may repeat what is acknowledged already
        known = {self.live.get(uuid) for uuid in self.acknowledged} - {None}
        while True:
            live = await self._next(conn, f"task {task_id}", lambda: stream.updates(task_id))
            if live.get("uuid") not in known:  # so may ours, if the acknowledgement is on its way
                break
        wanted = recorded.keys() - self.scenario.ignored_fields
        assert live.keys() == wanted, (recorded, live)
        for key in ("state", "reason", "source"):
            assert live.get(key) == recorded.get(key), (recorded, live)
        expected = self._text(recorded.get("message", ""))
        assert _plain(live.get("message", "")) == _plain(expected)
        if "container_status" in recorded:
            assert live["container_status"].keys() == recorded["container_status"].keys()
        if "uuid" in recorded:
            self.live[recorded["uuid"]] = live["uuid"]

    async def _close(self, line: Json) -> None:
        conn = line["conn"]
        if line["by"] == "client":
            if conn in self.streams:
                self.streams.pop(conn).close()
            elif conn in self.calls:
                self.calls.pop(conn).close()
        elif conn in self.streams and (line["clean"] or self.scenario.actions):
            assert await self.streams[conn].over() == ("clean" if line["clean"] else "cut")


def _by_name(offer: Json) -> Iterator[tuple[str, Json]]:
    return ((entry["name"], entry) for entry in offer["resources"])


def _scaled(factor: float, kind: Callable[[float], float] = float) -> Callable[[Any], str]:
    return lambda found: f"{found[1]}{kind(float(found[2]) * factor)}"


def _plain(message: str) -> str:
    """Without the parts that differ from agent to agent."""
    message = re.sub(r"for container '[^']*': .*", "for container", message)
    return re.sub(r"directory '[^']*'", "directory", message)
