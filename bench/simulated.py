"""A simulated Mesos whose many agents start nothing: their tasks are runners in word only.

Run as a process of its own, so that what the launcher costs can be told apart. It offers every
agent once, with room for its share of the tasks, takes what is launched as running, and lets each
task register with the launcher, be ready, and end well when all are ready; if several launchers
are expected, when the last of them has all tasks. What is shipped is fetched and thrown away by all
but the first task, which sees how soon the launcher answers meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncGenerator
from typing import Any

from tfmesos.engines.mesos.api.recordio import encode
from tfmesos.http.server import Answer, Request, Server
from tfmesos.node.link.connection import LONGEST_PAUSE
from tfmesos.shared import link_timeouts, wire
from tfmesos.shared.address import split_address
from tfmesos.shared.handshake import NONCE_BYTES, STUB_SETTINGS, RunnerHandshake

Json = dict[str, Any]
ASK_EVERY = 0.11  # seconds: a little more than ACK_WITHIN of the launcher
MUCH = 16 * 1024  # bytes, after which the launcher answers at once
WHOLE = 4096  # bytes; a longer frame can only be the start, and is not read


class Mesos:
    def __init__(self, tasks: int, agents: int, launchers: int) -> None:
        self._awaited, self._agents = tasks, agents
        self._launchers = launchers  # which the run will have
        self._events: asyncio.Queue[Json] = asyncio.Queue()
        self._tasks = 0
        self._runners: list[Runner] = []
        self._ready: list[Runner] = []
        counted = ("calls", "events", "frames", "heartbeats", "bytes")
        self.counts: dict[str, float] = {**dict.fromkeys(counted, 0), "slowest answer": 0.0}

    async def scheduler(self, request: Request) -> Answer:
        body = await request.body(2**30)
        call = json.loads(body)
        self.counts["calls"] += 1
        self.counts["bytes"] += len(body)
        if call["type"] == "SUBSCRIBE":
            self._events = asyncio.Queue()
            is_first = "framework_id" not in call
            return Answer(200, self._subscribe(is_first), {"Mesos-Stream-Id": "1"})
        if call["type"] == "RECONCILE":
            for task in call["reconcile"]["tasks"]:
                self.tell(task["task_id"], "TASK_RUNNING")
        if call["type"] == "ACCEPT":
            for operation in call["accept"]["operations"]:
                for info in operation["launch"]["task_infos"]:
                    await self._launch(info)
        if call["type"] == "TEARDOWN":
            self._events.put_nowait({})
        return Answer(202)

    async def _subscribe(self, is_first: bool) -> AsyncGenerator[bytes, None]:
        subscribed = {"framework_id": {"value": "F"}, "heartbeat_interval_seconds": 600}
        self._events.put_nowait({"type": "SUBSCRIBED", "subscribed": subscribed})
        room = -(-self._awaited // self._agents)
        offers = [offer(number, room) for number in range(self._agents)]
        if is_first:
            self._events.put_nowait({"type": "OFFERS", "offers": {"offers": offers}})
        while event := await self._events.get():
            self.counts["events"] += 1
            record = encode(json.dumps(event).encode())
            self.counts["bytes"] += len(record)
            yield record

    async def _launch(self, info: Json) -> None:
        self._tasks += 1
        self.tell(info["task_id"], "TASK_RUNNING")
        variables = info["command"]["environment"]["variables"]
        environment = {variable["name"]: variable["value"] for variable in variables}
        words = environment["TFMESOS_RUNNER"].split()
        settings = dict(zip(STUB_SETTINGS, words, strict=False))  # the last one is of TLS
        secret = bytes.fromhex(environment["TFMESOS_SECRET"])
        runner = Runner(self, info["task_id"], settings, secret, self._tasks)
        self._runners.append(runner)
        await runner.dial()

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(link_timeouts.HEARTBEAT)
            for runner in self._runners:
                runner.beat()

    def tell(self, task_id: Json, state: str) -> None:
        status = {"task_id": task_id, "state": state, "source": "SOURCE_EXECUTOR"}
        self._events.put_nowait({"type": "UPDATE", "update": {"status": status}})

    def ready(self, runner: Runner) -> None:
        """The last one that the last launcher has lets them all end."""
        self._ready.append(runner)
        if len(self._ready) < self._awaited:
            return
        ready, self._ready = self._ready, []
        self._launchers -= 1
        if not self._launchers:
            self.counts["complete"] = time.time()
            for each in ready:
                each.send({"type": "exit", "code": 0, "reason": "exited with 0", "tail": []})


class Runner(asyncio.Protocol):
    def __init__(
        self, mesos: Mesos, task_id: Json, settings: Json, secret: bytes, number: int
    ) -> None:
        self._mesos, self._id, self._number = mesos, task_id, number
        self._settings, self._secret = settings, secret
        self._epoch = 0  # of the launcher that was heard last
        self._numbered: list[Json] = []  # messages to it
        self._received = 0  # numbered ones of it
        self._is_welcome = self._has_ended = False
        self._missing = 0  # bytes of the shipped files
        self._asked_at = 0.0

    async def dial(self) -> None:
        """Until a launcher answers."""
        address = split_address(self._settings["launcher"])
        while True:
            try:
                await asyncio.get_running_loop().create_connection(lambda: self, *address)
            except OSError:
                await asyncio.sleep(LONGEST_PAUSE)
            else:
                return

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport
        self._buffer = bytearray()
        self._handshake = RunnerHandshake(
            self._secret,
            self._settings["run"],
            self._settings["task"],
            os.urandom(NONCE_BYTES),
            again=self._epoch > 0,
        )
        self.send(self._handshake.hello())

    def connection_lost(self, error: Exception | None) -> None:
        self._is_welcome = False
        if not self._has_ended:
            self._dialling = asyncio.create_task(self.dial())

    def beat(self) -> None:
        if self._is_welcome:
            self._mesos.counts["heartbeats"] += 1
            self._transport.write(wire.encode({"type": "heartbeat", "silent": 0}))

    def send(self, message: Json) -> None:
        self._mesos.counts["frames"] += 1
        if message["type"] in wire.NUMBERED:
            self._numbered.append(message)
        self._transport.write(wire.encode(message))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while len(self._buffer) >= 4:
            end = 4 + int.from_bytes(self._buffer[:4], "big")
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[4:end])
            del self._buffer[:end]
            if body[:1] == b"\0":
                self._fetched(len(body) - 1)
            else:
                self._take({"type": "start"} if len(body) > WHOLE else json.loads(body))

    def _welcomed(self, message: Json) -> None:
        before = self._epoch
        self._epoch = message.get("epoch", 1)
        self._secret = wire.secret(message)
        if not before:
            self._begin(message["settings"]["packs"].get("ship"))
            return
        for numbered in self._numbered[message["received"] :]:
            self._transport.write(wire.encode(numbered))
        if self._epoch > before:
            self._mesos.ready(self)

    def _begin(self, pack: Json | None) -> None:
        if pack and self._number > 1:
            self._missing = pack["size"]
            self.send({"type": "fetch", "pack": "ship", "at": 0})
        else:
            self._register()
            self._ask() if pack else None

    def _fetched(self, size: int) -> None:
        self._missing -= size
        if not self._missing:
            self._register()

    def _register(self) -> None:
        place = {"host": "127.0.0.1", "port": 1024 + self._number % 60000}
        self.send({"type": "register", "pid": 1, "python": "3.11", **place})

    def _ask(self) -> None:
        """See how long it takes until the launcher acknowledges a sign of life.

        One that comes just after an acknowledgement is left to the next, so we go on asking: what
        is measured is up to ASK_EVERY too much.
        """
        if self._is_welcome:
            self._asked_at = self._asked_at or time.perf_counter()
            padding = "x" * MUCH
            self._transport.write(wire.encode({"type": "heartbeat", "silent": 0, "x": padding}))
            asyncio.get_running_loop().call_later(ASK_EVERY, self._ask)

    def _answered(self) -> None:
        if self._asked_at:
            seconds = time.perf_counter() - self._asked_at
            self._mesos.counts["slowest answer"] = max(
                seconds, self._mesos.counts["slowest answer"]
            )
            self._asked_at = 0.0

    def _take(self, message: Json) -> None:
        kind = message["type"]
        self._mesos.counts["heartbeats" if kind == "ack" else "frames"] += 1
        self._received += kind in wire.NUMBERED
        if kind == "challenge":
            self.send({**self._handshake.feed(message), "received": self._received})
        elif kind == "welcome":
            self._is_welcome = True
            self._welcomed(message)
        elif kind == "ack":
            self._answered()
        elif kind == "start":
            self.send({"type": "ready"})
            self._mesos.ready(self)
        elif kind == "bye":
            self._is_welcome = False
            self._has_ended = True
            self._mesos.tell(self._id, "TASK_FINISHED")
            self._transport.close()


def offer(number: int, room: int) -> Json:
    amounts = {"cpus": 1.0 * room, "mem": 1024.0 * room}
    resources = [
        {"name": name, "type": "SCALAR", "scalar": {"value": amount}, "role": "*"}
        for name, amount in amounts.items()
    ]
    return {
        "id": {"value": f"O{number}"},
        "framework_id": {"value": "F"},
        "agent_id": {"value": f"S{number}"},
        "hostname": f"node-{number}",
        "resources": resources,
    }


async def main(tasks: int, agents: int, launchers: int = 1) -> None:
    """Serve one framework; say the port at first, and what passed when it has gone."""
    mesos = Mesos(tasks, agents, launchers)
    server = Server(mesos.scheduler)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(server.protocol, "127.0.0.1", 0)
    print(listener.sockets[0].getsockname()[1], flush=True)
    heart = asyncio.create_task(mesos.beat())
    await asyncio.to_thread(sys.stdin.read)
    heart.cancel()
    print(json.dumps(mesos.counts), flush=True)
    listener.close()
    await server.close()


if __name__ == "__main__":
    asyncio.run(main(*map(int, sys.argv[1:])))
