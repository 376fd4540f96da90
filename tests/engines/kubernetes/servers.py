"""API servers that say what they are told to, over real sockets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.bounds import HANG
from tests.tls import server_context
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes.api.access import Access, Login
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.http.server import Answer, Request, Server

RECORDINGS = Path(__file__).parent / "recordings"
TOKEN = "a-token-that-nobody-shows"
MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def recorded(name: str) -> list[Any]:
    """What a genuine server said."""
    lines = (RECORDINGS / f"{name}.jsonl").read_text().splitlines()
    return [json.loads(line)["said"] for line in lines]


def recorded_error(case: str) -> tuple[int, Any]:
    (found,) = [it for it in recorded("errors") if it.get("case") == case]
    return found["status"], found["body"]


def answer(status: int, body: Any, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer(status, data, {"Content-Type": "application/json", **headers})


class ApiServer:
    """Answers with what *answers* has for METHOD /path, one after the other, the last for ever."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self._answers = {
            key: list(it) if isinstance(it, list) else [it] for key, it in answers.items()
        }
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.headers: list[dict[str, str]] = []

    async def handle(self, request: Request) -> Answer:
        body = await request.body(10_000_000)
        seen = (request.method, request.path, request.query, json.loads(body) if body else None)
        self.requests.append(seen)
        self.headers.append(request.headers)
        found = self._answers[f"{request.method} {request.path}"]
        given = found.pop(0) if len(found) > 1 else found[0]
        return given() if callable(given) else given


@asynccontextmanager
async def serving(
    answers: dict[str, Any], certificate: Path, **access: Any
) -> AsyncIterator[tuple[ApiServer, Client]]:
    """A server over TLS, and a client of it."""
    ours = ApiServer(answers)
    server = Server(ours.handle)
    loop = asyncio.get_running_loop()
    listener = await loop.create_server(
        server.protocol, "127.0.0.1", 0, ssl=server_context(certificate)
    )
    port = listener.sockets[0].getsockname()[1]
    try:
        async with asyncio.timeout(HANG), client(port, certificate, **access) as asking:
            yield ours, asking
    finally:
        listener.close()
        await server.close()


def client(port: int, certificate: Path, **changes: Any) -> Client:
    values = {
        "server": f"https://127.0.0.1:{port}",
        "namespace": "tests",
        "authority": Path(f"{certificate}.crt").read_text(),
        "login": Login(token=Secret(TOKEN)),
        **changes,
    }
    return Client(Access(**values))


@asynccontextmanager
async def scripted(
    converse: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any],
    certificate: Path,
    **access: Any,
) -> AsyncIterator[Client]:
    """A server that is what *converse* does with every connection."""
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await converse(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        task = asyncio.get_running_loop().create_task(serve(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    context = server_context(certificate)
    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=context)
    try:
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(HANG), client(port, certificate, **access) as asking:
            yield asking
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:  # whoever is at the other end may take long to notice
            writer.transport.abort()
        await asyncio.gather(*(it.wait_closed() for it in writers), return_exceptions=True)


async def accept_websocket(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> dict[str, str]:
    """The headers of the question, which is answered as the API server does."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    lines = [line.partition(": ")[::2] for line in head.split("\r\n")[1:-2]]
    headers = {name.lower(): value for name, value in lines}
    digest = hashlib.sha1((headers["sec-websocket-key"] + MAGIC).encode()).digest()
    accept = base64.b64encode(digest).decode()
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + f"Sec-WebSocket-Accept: {accept}\r\n".encode()
        + f"Sec-WebSocket-Protocol: {headers['sec-websocket-protocol']}\r\n\r\n".encode()
    )
    return {"": head.split("\r\n")[0], **headers}


def frame(payload: bytes, opcode: int = 2, fin: bool = True) -> bytes:
    first, size = opcode | (0x80 if fin else 0), len(payload)
    if size < 126:
        return bytes([first, size]) + payload
    if size < 65536:
        return bytes([first, 126]) + size.to_bytes(2, "big") + payload
    return bytes([first, 127]) + size.to_bytes(8, "big") + payload


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Opcode and payload of a frame of a client, which is masked."""
    first, second = await reader.readexactly(2)
    assert second & 0x80, "a client masks its frames"
    size = second & 0x7F
    if size > 125:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
    mask = await reader.readexactly(4)
    data = await reader.readexactly(size)
    return first & 0x0F, bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
