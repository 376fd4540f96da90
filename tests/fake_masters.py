"""Masters of the wire: real sockets that play recorded bytes, or misbehave as their names say."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tfmesos.engines.mesos.api import recordio

TRANSCRIPTS = Path(__file__).parent / "transcripts"
STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
    b"Mesos-Stream-Id: stream-%d\r\nContent-Type: application/json\r\n\r\n"
)
ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
TLS_HELLO = b"\x16"
CLEAN_END = b"0\r\n\r\n"


@dataclass(frozen=True)
class Request:
    connection: int
    line: str
    headers: list[tuple[str, str]]
    body: Any

    def header(self, name: str) -> str | None:
        return dict((key.lower(), value) for key, value in self.headers).get(name.lower())


class GoodMaster:
    """Subscribes everybody, accepts each call and ends the stream after TEARDOWN."""

    def __init__(self, *, heartbeat: float = 15.0, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Request] = []
        self.subscriptions = 0
        self._heartbeat, self._tls = heartbeat, tls
        self._connections = 0
        self._writers: list[asyncio.StreamWriter] = []
        self._arrived: dict[str, asyncio.Queue[Request]] = defaultdict(asyncio.Queue)
        self.stream: asyncio.StreamWriter | None = None

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._handle, "127.0.0.1", 0, ssl=self._tls)
        port = self._server.sockets[0].getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self.url = f"{'https' if self._tls else 'http'}://{self.address}"
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        await all_connections_closed()

    async def next(self, type: str) -> Request:
        """The next call of this type, waiting for it if need be."""
        return await self._arrived[type].get()

    def calls(self, *types: str) -> list[Request]:
        return [it for it in self.requests if it.body["type"] in types]

    def send(self, *events: dict[str, Any]) -> None:
        for event in events:
            self.send_bytes(recordio.encode(json.dumps(event).encode()))

    def send_bytes(self, data: bytes) -> None:
        self.stream.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if refusal := self._refusal(request):
            writer.write(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % refusal.encode())
        elif request.body["type"] == "SUBSCRIBE":
            self.subscriptions += 1
            self.stream = writer
            await self.subscribed(request, writer)
        else:
            await self.called(request, writer)

    def _refusal(self, request: Request) -> str | None:
        """What a genuine master answers to a call of a wrong form, or on no stream of its."""
        if request.line.startswith("GET "):
            return None
        if request.header("Content-Type") != "application/json":
            return "415 Unsupported Media Type"
        has_stream = request.header("Mesos-Stream-Id") is not None
        return "400 Bad Request" if has_stream is (request.body["type"] == "SUBSCRIBE") else None

    async def subscribed(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(STREAM_HEAD % self.subscriptions)
        self.send(subscribed(heartbeat=self._heartbeat))

    async def called(self, request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(ACCEPTED)
        if request.body["type"] == "TEARDOWN":
            self.stream.write(CLEAN_END)

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        number = self._connections
        self._writers.append(writer)
        try:
            with suppress(OSError, EOFError):
                while (first := await reader.readexactly(1)) != TLS_HELLO:
                    request = await _read_request(first, reader, number)
                    self.requests.append(request)
                    self._arrived[request.body["type"]].put_nowait(request)
                    await self.answer(request, writer)
                    await writer.drain()
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        finally:
            writer.close()


def server_tasks() -> list[asyncio.Task]:
    """The tasks that asyncio's servers and the fakes run for their connections."""
    names = ("_handle", "_accept_connection2")
    return [task for task in asyncio.all_tasks() if task.get_coro().__name__ in names]


async def all_connections_closed() -> None:
    while tasks := server_tasks():
        await asyncio.wait(tasks)


async def _read_request(first: bytes, reader: asyncio.StreamReader, connection: int) -> Request:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = [tuple(line.split(": ", 1)) for line in head[1:] if line]
    if head[0].startswith("GET "):
        return Request(connection, head[0], headers, {"type": head[0].removesuffix(" HTTP/1.1")})
    length = next(int(value) for name, value in headers if name.lower() == "content-length")
    return Request(connection, head[0], headers, json.loads(await reader.readexactly(length)))


class MasterThatPlays(GoodMaster):
    """Answers SUBSCRIBE with recorded bytes, one answer after the other, the last one for ever."""

    def __init__(self, *answers: bytes, piece: int = 1 << 20) -> None:
        super().__init__()
        self._answers, self._piece = list(answers), piece

    async def subscribed(self, request, writer):
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        for start in range(0, len(answer), self._piece):
            writer.write(answer[start : start + self._piece])
            await writer.drain()


class MasterThatRedirects(GoodMaster):
    def __init__(self, location: str, status: str = "307 Temporary Redirect", **options: Any):
        super().__init__(**options)
        self._location, self._status = location, status

    async def subscribed(self, request, writer):
        head = f"HTTP/1.1 {self._status}\r\nLocation: {self._location}\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())


class MasterThatRedirectsCalls(MasterThatRedirects):
    """And every reader of its endpoints; only SUBSCRIBE stays here."""

    async def subscribed(self, request, writer):
        await GoodMaster.subscribed(self, request, writer)

    async def called(self, request, writer):
        await MasterThatRedirects.subscribed(self, request, writer)


class MasterThatSetsCookies(GoodMaster):
    async def subscribed(self, request, writer):
        cookie = b"\r\nSet-Cookie: from=subscribe; Path=/\r\n\r\n"
        writer.write((STREAM_HEAD % self.subscriptions).replace(b"\r\n\r\n", cookie))
        self.send(subscribed())

    async def called(self, request, writer):
        writer.write(ACCEPTED.replace(b"\r\n\r\n", b"\r\nSet-Cookie: from=call; Path=/\r\n\r\n"))


class MasterThatRedirectsInACircle(MasterThatRedirects):
    def __init__(self) -> None:
        super().__init__("")

    async def subscribed(self, request, writer):
        self._location = f"//{self.address}/master/{self.subscriptions}/api/v1/scheduler"
        await super().subscribed(request, writer)


class MasterThatDiesInTheMiddleOfARecord(GoodMaster):
    """The first time only."""

    async def subscribed(self, request, writer):
        await super().subscribed(request, writer)
        if self.subscriptions == 1:
            self.send_bytes(b'100\n{"type": "OFF')
            await writer.drain()
            writer.close()


class MasterThatEndsInTheMiddleOfARecord(GoodMaster):
    """Each time, before it has said anything."""

    async def subscribed(self, request, writer):
        writer.write(STREAM_HEAD % self.subscriptions)
        self.send_bytes(b'100\n{"type": "SUBS')
        await writer.drain()
        writer.close()


class MasterThatSpeaksGarbageAfterASubscription(GoodMaster):
    async def subscribed(self, request, writer):
        await super().subscribed(request, writer)
        self.send_bytes(b"\xff\xfe garbage")


class MasterThatAnswersNothing(GoodMaster):
    async def subscribed(self, request, writer):
        pass


class MasterThatHangsUp(GoodMaster):
    async def answer(self, request, writer):
        writer.close()


class MasterThatLosesCalls(GoodMaster):
    """Closes the connection instead of answering a call."""

    async def called(self, request, writer):
        writer.close()


class MasterThatIsSlowToAnswer(GoodMaster):
    """Answers its calls one after the other, each when ``answering`` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answering = asyncio.Event()

    async def called(self, request, writer):
        await self.answering.wait()
        await super().called(request, writer)


class MasterThatRefusesCalls(GoodMaster):
    def __init__(self, status: str = "400 Bad Request", text: str = "Framework cannot be found"):
        super().__init__()
        self._answer = f"HTTP/1.1 {status}\r\nContent-Length: {len(text)}\r\n\r\n{text}"

    async def called(self, request, writer):
        writer.write(self._answer.encode())


class MasterThatRefusesLaunches(GoodMaster):
    """Offers a large node, and refuses whoever takes it."""

    async def subscribed(self, request, writer):
        await super().subscribed(request, writer)
        amounts = {"cpus": 64, "mem": 1e6}
        resources = [
            {"name": name, "type": "SCALAR", "scalar": {"value": value}, "role": "*"}
            for name, value in amounts.items()
        ]
        ids = {key: {"value": key} for key in ("id", "agent_id", "framework_id")}
        self.send(
            {
                "type": "OFFERS",
                "offers": {"offers": [{**ids, "hostname": "node", "resources": resources}]},
            }
        )

    async def called(self, request, writer):
        if request.body["type"] != "ACCEPT":
            return await super().called(request, writer)
        writer.write(b"HTTP/1.1 413 Payload Too Large\r\nContent-Length: 0\r\n\r\n")


class MasterWhoseTasksFail(GoodMaster):
    """Offers an agent, and tells of every task that it is launched on it that it failed."""

    def __init__(self, agent_port: int, **options: Any) -> None:
        super().__init__(**options)
        self._agent_port = agent_port

    async def subscribed(self, request, writer):
        await super().subscribed(request, writer)
        resources = [
            {"name": name, "type": "SCALAR", "scalar": {"value": 4096.0}, "role": "*"}
            for name in ("cpus", "mem")
        ]
        offer = {
            "id": {"value": "offer-1"},
            "agent_id": {"value": "agent-1"},
            "hostname": "127.0.0.1",
            "url": {"scheme": "http", "address": {"ip": "127.0.0.1", "port": self._agent_port}},
            "resources": resources,
        }
        self.send({"type": "OFFERS", "offers": {"offers": [offer]}})

    async def called(self, request, writer):
        await super().called(request, writer)
        if request.body["type"] == "ACCEPT":
            (operation,) = request.body["accept"]["operations"]
            for task in operation["launch"]["task_infos"]:
                failed = update("dXVpZA==", "TASK_FAILED")
                failed["update"]["status"] |= {"task_id": task["task_id"]}
                failed["update"]["status"] |= {"message": "Command exited with status 3"}
                self.send(failed)


class MasterThatAnswersReaders(GoodMaster):
    """Sends these very bytes to whoever reads its endpoints; nothing at all if there are none."""

    def __init__(self, answer: bytes, **options: Any) -> None:
        super().__init__(**options)
        self._answer = answer

    async def called(self, request: Request, writer: asyncio.StreamWriter) -> None:
        if not request.body["type"].startswith("GET "):
            return await super().called(request, writer)
        writer.write(self._answer)


class ServerThatIsNotMesos(GoodMaster):
    """Sends the same bytes to everybody, whatever they say."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self._answer = answer

    async def answer(self, request, writer):
        writer.write(self._answer)
        await writer.drain()
        writer.close()


class ServerThatResets(GoodMaster):
    """Resets each connection as soon as something arrives, as a TLS port of Mesos does."""

    async def _handle(self, reader, writer):
        await reader.read(1)
        linger = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.close()


class ServerThatEchoes(GoodMaster):
    async def answer(self, request, writer):
        writer.write(f"{request.line}\r\nHost: you\r\n\r\n".encode())


def subscribed(framework_id: str = "framework-1", *, heartbeat: float = 15.0) -> dict[str, Any]:
    body = {"framework_id": {"value": framework_id}, "heartbeat_interval_seconds": heartbeat}
    return {"type": "SUBSCRIBED", "subscribed": body}


def update(uuid: str | None, state: str = "TASK_RUNNING") -> dict[str, Any]:
    status: dict[str, Any] = {
        "task_id": {"value": "task-1"},
        "agent_id": {"value": "agent-1"},
        "state": state,
    }
    if uuid:
        status["uuid"] = uuid
    return {"type": "UPDATE", "update": {"status": status}}


def transcript(name: str) -> Iterable[dict[str, Any]]:
    return [json.loads(line) for line in (TRANSCRIPTS / f"{name}.jsonl").read_text().splitlines()]


def recorded_answer(name: str, status: int, text: str = "") -> bytes:
    """The first response of a transcript with this status and text, as bytes on the wire."""
    found = next(
        it
        for it in transcript(name)
        if it["dir"] == "response" and it["status"] == status and text in it.get("body", "")
    )
    lines = [f"{key}: {value}" for key, value in found["headers"]]
    head = "\r\n".join([f"HTTP/1.1 {status} {found['reason']}", *lines])
    return f"{head}\r\n\r\n{found.get('body', '')}".encode()


def recorded_stream(name: str, connection: int) -> bytes:
    """A whole recorded stream, of which only the events were kept, with its clean end."""
    events = [
        it["event"] for it in transcript(name) if it["dir"] == "event" and it["conn"] == connection
    ]
    records = [recordio.encode(json.dumps(event).encode()) for event in events]
    chunks = [b"%x\r\n%s\r\n" % (len(record), record) for record in records]
    return STREAM_HEAD % 1 + b"".join(chunks) + CLEAN_END
