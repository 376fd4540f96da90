"""Answers requests, one after the other on each connection."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import parse_qsl, unquote

import h11

from ..record import NOTHING, Record
from .byte_stream import ByteStream
from .connection import Connection, HttpError, TooLarge, read_headers, write_headers

log = logging.getLogger(__name__)

IDLE = 75.0  # seconds between two requests, and for the head of one
LINGER = 10.0  # seconds for the rest of a body that nobody wants; the answer is read before it ends
REASONS = {
    **{200: "OK", 202: "Accepted", 307: "Temporary Redirect", 400: "Bad Request"},
    **{401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"},
    **{406: "Not Acceptable", 413: "Payload Too Large", 415: "Unsupported Media Type"},
    **{431: "Request Header Fields Too Large", 500: "Internal Server Error"},
    **{501: "Not Implemented"},
}


class Answer(Record):
    """What a handler returns. A body that is still to come is an async generator.

    If it ends with a ConnectionError, or before its Content-Length, the connection is cut.
    """

    status: int = 200
    body: bytes | AsyncGenerator[bytes, None] = b""
    headers: Mapping[str, str] = NOTHING


class Request:
    """*headers* are by their names in lower case, *path* is unquoted, *query* by name."""

    def __init__(self, head: h11.Request, connection: Connection) -> None:
        self.method = head.method.decode("ascii")
        path, _, query = head.target.decode("ascii").partition("?")
        self.path = unquote(path)
        self.query = dict(reversed(parse_qsl(query, keep_blank_values=True)))
        self.headers = read_headers(head.headers)
        self._connection = connection

    @property
    def stream(self) -> ByteStream:
        """The connection on which the request came."""
        return self._connection.stream

    @property
    def address(self) -> tuple[Any, ...] | None:
        """Our address, to which the request came."""
        found: tuple[Any, ...] | None = self.stream.transport.get_extra_info("sockname")
        return found

    async def body(self, limit: int) -> bytes:
        """All of it; TooLarge as soon as it is known to be longer than *limit* bytes."""
        if int(self.headers.get("content-length", 0)) > limit:
            raise TooLarge(limit)
        if self._connection.awaits_continue:
            self._connection.send(h11.InformationalResponse(status_code=100, headers=[]))
        body = bytearray()
        while isinstance(event := await self._connection.receive(), h11.Data):
            body += event.data
            if len(body) > limit:
                raise TooLarge(limit)
        return bytes(body)


Handler = Callable[[Request], Awaitable[Answer]]


class Server:
    """Hands every request to *handle*, which is cancelled when its client has gone.

    ``protocol`` makes what serves a connection; ``close`` cuts all of them.
    """

    def __init__(self, handle: Handler) -> None:
        self._handle = handle
        self._serving: set[asyncio.Task[None]] = set()

    def protocol(self) -> asyncio.BaseProtocol:
        return _ServedStream(self._serve)

    async def close(self) -> None:
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _serve(self, stream: ByteStream) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(self._serve_all(stream))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        return task

    async def _serve_all(self, stream: ByteStream) -> None:
        connection = Connection(stream, h11.SERVER)
        try:
            while await self._serve_one(connection):
                pass
            stream.transport.close()  # what was written is still sent
        except OSError:
            pass  # it has gone, or was too slow
        except Exception:
            log.exception("an answer could not be sent")
        finally:
            if not stream.transport.is_closing():
                stream.abort()

    async def _serve_one(self, connection: Connection) -> bool:
        """Answer the next request, if one comes; returns whether another may follow."""
        is_last = False
        try:
            request = await _next_request(connection)
            if request is None:
                return False
            answer = await self._handled(request)
            is_last = connection.awaits_continue  # nobody knows whether its body will come
            await _send(connection, _last(answer) if is_last else answer, request.method)
        except HttpError as error:
            if connection.can_answer:
                await _send(connection, _last(text(error.status, f"{error}\n")))
        return not is_last and await _finish(connection)

    async def _handled(self, request: Request) -> Answer:
        try:
            return await self._handle(request)
        except (ConnectionError, HttpError):
            raise
        except Exception:
            log.exception("no answer to %s %s", request.method, request.path)
            return text(500, "Internal Server Error\n")


class _ServedStream(ByteStream):
    """Is served as long as its connection is open."""

    def __init__(self, serve: Callable[[ByteStream], asyncio.Task[None]]) -> None:
        super().__init__()
        self._serve = serve
        self._serving: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._serving = self._serve(self)

    def connection_lost(self, error: Exception | None) -> None:
        super().connection_lost(error)
        if self._serving is not None:
            self._serving.cancel()


def text(status: int, words: str, headers: Mapping[str, str] = NOTHING) -> Answer:
    kind = {"Content-Type": "text/plain; charset=utf-8"} if words else {}
    return Answer(status, words.encode(errors="replace"), {**kind, **headers})


async def _next_request(connection: Connection) -> Request | None:
    """None at the clean end of the connection."""
    async with asyncio.timeout(IDLE):
        head = await connection.receive()
    if not isinstance(head, h11.Request):
        return None
    if head.http_version not in (b"1.0", b"1.1"):
        raise HttpError(f"no HTTP/{head.http_version.decode()} is supported here")
    return Request(head, connection)


def _last(answer: Answer) -> Answer:
    return answer.replace(headers={**answer.headers, "Connection": "close"})


async def _send(connection: Connection, answer: Answer, method: str = "GET") -> None:
    head, body = _head(answer), answer.body
    if method == "HEAD":
        connection.send(head, h11.EndOfMessage())
    elif isinstance(body, bytes):
        connection.send(head, h11.Data(data=body), h11.EndOfMessage())
    else:
        connection.send(head)
        async with aclosing(body):
            async for piece in body:
                connection.send(h11.Data(data=piece))
                await connection.stream.drain()
        connection.send(h11.EndOfMessage())
    await connection.stream.drain()


def _head(answer: Answer) -> h11.Response:
    headers = {"Date": time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()), **answer.headers}
    if isinstance(answer.body, bytes):
        headers["Content-Length"] = str(len(answer.body))
    reason = REASONS.get(answer.status, "")
    return h11.Response(status_code=answer.status, reason=reason, headers=write_headers(headers))


async def _finish(connection: Connection) -> bool:
    """Read the rest of the request; returns whether another may follow.

    If a connection is closed with unread bytes, its client loses the answer.
    """
    try:
        async with asyncio.timeout(LINGER):
            while connection.has_unread_body:
                await connection.receive()
    except HttpError:
        return False
    return connection.renew()
