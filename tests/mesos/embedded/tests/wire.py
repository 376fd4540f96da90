"""A scheduler made of bare sockets: it shares no code with the client of the package."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.bounds import HANG

Json = dict[str, Any]
JSON_HEADERS = {"Accept": "application/json", "Content-Type": "application/json"}


@dataclass
class Answer:
    status: int
    reason: str
    headers: dict[str, str]
    body: str = ""


class Connection:
    """One HTTP/1.1 connection."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> None:
        self.reader, self.writer, self.host = reader, writer, host

    @classmethod
    async def open(cls, url: str) -> Connection:
        parts = urlsplit(url)
        return cls(*await asyncio.open_connection(parts.hostname, parts.port), parts.netloc)

    async def request(
        self,
        body: Any,
        headers: dict[str, str] = JSON_HEADERS,
        *,
        method: str = "POST",
        path: str = "/api/v1/scheduler",
    ) -> Answer:
        payload = body if isinstance(body, str) else json.dumps(body)
        data = (payload if body is not None else "").encode()
        headers = {"Host": self.host, "Content-Length": len(data), **headers}
        lines = [f"{method} {path} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items() if value is not None]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        answer = await self._head()
        if "Content-Length" in answer.headers:
            size = int(answer.headers["Content-Length"])
            answer.body = (await self.reader.readexactly(size)).decode()
        return answer

    async def _head(self) -> Answer:
        async with asyncio.timeout(HANG):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.rstrip().split("\r\n")
        _version, status, reason = first.split(" ", 2)
        return Answer(int(status), reason, dict(line.split(": ", 1) for line in rest))

    async def chunk(self) -> bytes:
        """The next chunk; empty if it was the terminating one."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    def close(self) -> None:
        self.writer.close()


@dataclass
class Scheduler:
    """A subscribed framework; every event it got is in ``events``."""

    url: str
    stream: Connection
    calls: Connection
    answer: Answer
    auth: dict[str, str]
    acknowledges: bool = True
    framework_id: str = ""
    events: list[Json] = field(default_factory=list)
    ended: str | None = None  # "clean" or "cut" when the stream is over
    _reading: asyncio.Task[None] | None = None
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @classmethod
    async def subscribe(
        cls, url: str, info: Json, *, auth: dict[str, str] | None = None, **more: Any
    ) -> Scheduler:
        call: Json = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}
        if "id" in info:
            call["framework_id"] = info["id"]
        if "suppressed_roles" in more:
            call["subscribe"]["suppressed_roles"] = more.pop("suppressed_roles")
        return await cls.send_subscribe(url, call, JSON_HEADERS | (auth or {}), auth or {}, **more)

    @classmethod
    async def send_subscribe(
        cls, url: str, call: Json, headers: dict[str, str], auth: dict[str, str], **more: Any
    ) -> Scheduler:
        stream, calls = await Connection.open(url), await Connection.open(url)
        answer = await stream.request(call, headers)
        self = cls(url, stream, calls, answer, auth, **more)
        self._reading = asyncio.create_task(self._read())
        return self

    async def _read(self) -> None:
        try:
            while chunk := await self.stream.chunk():
                length, _, record = chunk.partition(b"\n")
                assert int(length) == len(record), "one whole record per chunk"
                await self._received(json.loads(record))
            self.ended = "clean"
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended = "cut"
        self._changed.set()

    async def _received(self, event: Json) -> None:
        self.events.append(event)
        if event["type"] == "SUBSCRIBED":
            self.framework_id = event["subscribed"]["framework_id"]["value"]
        self._changed.set()
        status = event.get("update", {}).get("status", {})
        if self.acknowledges and "uuid" in status:
            await self.acknowledge(status)

    async def acknowledge(self, status: Json) -> None:
        body = {key: status[key] for key in ("agent_id", "task_id", "uuid")}
        await self.call("ACKNOWLEDGE", **body)

    async def call(self, kind: str, **body: Any) -> Answer:
        call = {"framework_id": {"value": self.framework_id}, "type": kind}
        headers = JSON_HEADERS | {"Mesos-Stream-Id": self.answer.headers["Mesos-Stream-Id"]}
        if body or kind == "RECONCILE":
            call[kind.lower()] = body  # type: ignore[assignment]
        # Acknowledgements and calls of the test share a connection: one at a time.
        async with self._turn():
            return await self.calls.request(call, headers | self.auth)

    def _turn(self) -> asyncio.Lock:
        if not hasattr(self, "_lock"):
            self._lock = asyncio.Lock()
        return self._lock

    async def until(self, done: Callable[[], Any]) -> Any:
        """Wait until *done* says something true, looking after every event."""
        async with asyncio.timeout(HANG):
            while not (found := done()):
                self._changed.clear()
                if found := done():
                    return found
                await self._changed.wait()
        return found

    def of_type(self, kind: str) -> list[Json]:
        return [event for event in self.events if event["type"] == kind]

    def offers(self) -> list[Json]:
        return [offer for event in self.of_type("OFFERS") for offer in event["offers"]["offers"]]

    async def offer(self, number: int = 0) -> Json:
        """The offer of that number, when it is there."""
        return await self.until(lambda: self.offers()[number:] and self.offers()[number])

    def updates(self, task_id: str) -> list[Json]:
        statuses = (event["update"]["status"] for event in self.of_type("UPDATE"))
        return [status for status in statuses if status["task_id"]["value"] == task_id]

    def states(self, task_id: str) -> list[str]:
        return [status["state"] for status in self.updates(task_id)]

    async def state(self, task_id: str, state: str, number: int = 0) -> Json:
        """The update of *task_id* with that state, when it is there."""

        def found() -> Json | None:
            same = [status for status in self.updates(task_id) if status["state"] == state]
            return same[number] if len(same) > number else None

        return await self.until(found)

    async def launch(self, offer: Json, *tasks: Json, refuse: float | None = 0) -> Answer:
        infos = [{**task, "agent_id": offer["agent_id"]} for task in tasks]
        operation = {"type": "LAUNCH", "launch": {"task_infos": infos}}
        filters = {} if refuse is None else {"filters": {"refuse_seconds": refuse}}
        return await self.call("ACCEPT", offer_ids=[offer["id"]], operations=[operation], **filters)

    async def kill(self, task_id: str, **more: Any) -> Answer:
        return await self.call("KILL", task_id={"value": task_id}, **more)

    async def over(self) -> str:
        """How the stream ended, when it has."""
        await self.until(lambda: self.ended)
        return str(self.ended)

    def close(self) -> None:
        if self._reading:
            self._reading.cancel()
        self.stream.close()
        self.calls.close()


def framework(*capabilities: str, **fields: Any) -> Json:
    names = capabilities or ("PARTITION_AWARE", "TASK_KILLING_STATE", "MULTI_ROLE", "GPU_RESOURCES")
    roles = {"roles": ["*"]} if "MULTI_ROLE" in names else {}
    listed = [{"type": name} for name in names]
    return {"user": "root", "name": "test", "capabilities": listed, **roles, **fields}


def task(name: str, command: str | Json, cpus: float = 0.1, mem: float = 32, **fields: Any) -> Json:
    entries = [
        {"name": "cpus", "type": "SCALAR", "scalar": {"value": cpus}},
        {"name": "mem", "type": "SCALAR", "scalar": {"value": mem}},
    ]
    info = {"shell": True, "value": command} if isinstance(command, str) else command
    return {
        "name": name,
        "task_id": {"value": name},
        "resources": entries,
        "command": info,
        **fields,
    }


def grace(seconds: float) -> Json:
    return {"kill_policy": {"grace_period": {"nanoseconds": round(seconds * 1e9)}}}


async def appearance(path: Path) -> str:
    """The text of a file that a task writes, when it is there and has some."""
    for _ in range(int(HANG / 0.005)):
        if text := _content(path):
            return text
        await asyncio.sleep(0.005)
    raise TimeoutError(f"{path} did not appear")


def _content(path: Path) -> str:
    return path.read_text() if path.exists() else ""
