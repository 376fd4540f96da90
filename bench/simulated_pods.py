"""A Kubernetes API server whose pods are runners in word only, each behind a port-forward.

Run as a process of its own, so that what the launcher costs can be told apart. It keeps objects in
memory, schedules every pod at once and lets it run; each task is that of ``simulated``.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import sys
from collections.abc import AsyncGenerator
from typing import Any

from wsproto.connection import SERVER, Connection
from wsproto.events import BytesMessage, CloseConnection

from bench.simulated import Json, Runner
from tfmesos.http.byte_stream import ByteStream
from tfmesos.http.server import Answer, Request, Server
from tfmesos.shared import link_timeouts
from tfmesos.shared.handshake import STUB_SETTINGS

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455
RIGHTS = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
SWITCH = (
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Protocol: v4.channel.k8s.io\r\nSec-WebSocket-Accept: {}\r\n\r\n"
)


class Kubernetes:
    def __init__(self, tasks: int) -> None:
        self._awaited = tasks
        self._objects: dict[str, dict[str, Json]] = {}
        self._version = 0
        self._events: list[bytes] = []
        self._news = asyncio.Event()
        self._runners: list[Runner] = []
        self._ready: list[Runner] = []
        counted = ("calls", "events", "frames", "heartbeats", "bytes")
        self.counts: dict[str, float] = {**dict.fromkeys(counted, 0), "slowest answer": 0.0}

    async def handle(self, request: Request) -> Answer:
        body = await request.body(2**24)
        self.counts["calls"] += 1
        self.counts["bytes"] += len(body)
        path = request.path.partition("/v1/")[2].removeprefix("namespaces/default/")
        kind, *names = path.split("/")
        if names[1:] == ["portforward"]:
            await self._forward(request, names[0])
        if kind == "pods" and request.query.get("watch"):
            return Answer(200, self._watch())
        return self._answer(request.method, kind, names, json.loads(body) if body else {})

    def _answer(self, method: str, kind: str, names: list[str], body: Json) -> Answer:
        kept = self._objects.setdefault(kind, {})
        if kind.endswith("reviews"):
            return _json({"status": {"resourceRules": [RIGHTS]}}, 201)
        if method == "PATCH":
            return _json({})
        if method == "POST":
            return self._create(kind, body)
        if method == "DELETE":
            return _json(kept.pop(names[0], {}))
        items = [] if kind == "pods" else list(kept.values())
        return _json({"items": items, "metadata": {"resourceVersion": str(self._version)}})

    def _create(self, kind: str, body: Json) -> Answer:
        name = body["metadata"]["name"]
        body["metadata"] |= {"uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
        self._objects[kind][name] = body
        if kind == "pods":
            body["spec"]["nodeName"] = "node"
            self._tell(body, "Pending", {"waiting": {"reason": "ContainerCreating"}})
            self._tell(body, "Running", {"running": {}})
        return _json(body, 201)

    def _tell(self, pod: Json, phase: str, state: Json) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        name = pod["spec"]["containers"][0]["name"]
        containers = [{"name": name, "state": state}]
        pod["status"] = {"phase": phase, "podIP": "127.0.0.1", "containerStatuses": containers}
        self._events.append(json.dumps({"type": "MODIFIED", "object": pod}).encode() + b"\n")
        self._news.set()

    async def _watch(self) -> AsyncGenerator[bytes, None]:
        seen = 0
        while True:
            self._news.clear()
            lines, seen = self._events[seen:], len(self._events)
            self.counts["events"] += len(lines)
            for line in lines:
                self.counts["bytes"] += len(line)
                yield line
            await self._news.wait()

    async def _forward(self, request: Request, name: str) -> None:
        """Be the runner of this pod for as long as the connection lasts."""
        key = request.headers["sec-websocket-key"] + MAGIC
        accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
        link = Link(request.stream)
        request.stream.write(SWITCH.format(accept).encode())
        runner = self._runner(name)
        runner.connection_made(link)
        while not link.is_over and (data := await request.stream.read()):
            for payload in link.received(data):
                runner.data_received(payload)
        raise ConnectionAbortedError  # nothing else is sent here

    def _runner(self, name: str) -> Runner:
        pod = self._objects["pods"][name]
        variables = {it["name"]: it for it in pod["spec"]["containers"][0]["env"]}
        words = variables["TFMESOS_RUNNER"]["value"].split()
        place = variables["TFMESOS_SECRET"]["valueFrom"]["secretKeyRef"]
        secrets = self._objects["secrets"][place["name"]]
        settings = dict(zip(STUB_SETTINGS, words, strict=False))
        number = len(self._runners) + 1
        runner = Runner(self, {"value": name}, settings, _proof(secrets, place["key"]), number)
        self._runners.append(runner)
        return runner

    # What the runners tell

    def tell(self, task_id: Json, state: str) -> None:
        pod = self._objects["pods"].get(task_id["value"])
        if pod is not None:
            self._tell(pod, "Succeeded", {"terminated": {"exitCode": 0, "reason": "Completed"}})

    def ready(self, runner: Runner) -> None:
        self._ready.append(runner)
        if len(self._ready) == self._awaited:
            for each in self._ready:
                each.send({"type": "exit", "code": 0, "reason": "exited with 0", "tail": []})

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(link_timeouts.HEARTBEAT)
            for runner in self._runners:
                runner.beat()


class Link(asyncio.WriteTransport):
    """What a runner writes, as messages of a port-forward."""

    def __init__(self, stream: ByteStream) -> None:
        super().__init__()
        self._stream, self._websocket = stream, Connection(SERVER)
        self.is_over = False
        self._begun = False

    def write(self, data: Any) -> None:
        ports = [] if self._begun else [b"\0\1\1", b"\1\1\1"]
        self._begun = True
        for message in (*ports, b"\0" + data):
            self._stream.write(self._websocket.send(BytesMessage(data=message)))

    def close(self) -> None:
        self._stream.write(self._websocket.send(CloseConnection(code=1000)))

    def received(self, data: bytes) -> list[bytes]:
        self._websocket.receive_data(data)
        payloads = []
        for event in self._websocket.events():
            self.is_over = self.is_over or isinstance(event, CloseConnection)
            if isinstance(event, BytesMessage):
                payloads.append(bytes(event.data)[1:])
        return payloads


def _proof(secret: Json, key: str) -> bytes:
    text = secret.get("stringData", {}).get(key) or base64.b64decode(secret["data"][key]).decode()
    return bytes.fromhex(text)


def _json(body: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(body).encode(), {"Content-Type": "application/json"})


async def main(tasks: int) -> None:
    """Serve one launcher; say the port at first, and what passed when it has gone."""
    kubernetes = Kubernetes(tasks)
    server = Server(kubernetes.handle)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(server.protocol, "127.0.0.1", 0, backlog=1000)
    print(listener.sockets[0].getsockname()[1], flush=True)
    heart = asyncio.create_task(kubernetes.beat())
    await asyncio.to_thread(sys.stdin.read)
    heart.cancel()
    print(json.dumps(kubernetes.counts), flush=True)
    listener.close()
    await server.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
