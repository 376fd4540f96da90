"""Connections into pods, each through a websocket of the API server.

``pods/NAME/portforward`` with the subprotocol ``v4.channel.k8s.io``: the first byte of a message
names its channel, 0 for the data and 1 for errors. Each channel begins with the port, two bytes.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import socket
from collections.abc import Iterator

from wsproto.connection import CLIENT, Connection
from wsproto.events import BytesMessage, CloseConnection, Event, Ping, TextMessage

from ....http.byte_stream import ByteStream
from ....http.client import Upgraded
from ....text import shortened
from .error import NotKubernetes, Unreachable

PROTOCOL = "v4.channel.k8s.io"
SETTLE = 3.0  # seconds for the first byte of the pod, or for the error that nobody listens
CLOSING = 2.0  # seconds for the last bytes to leave
CHUNK = 32 * 1024  # bytes of a message to the pod
MAX_ERROR = 4096  # bytes of an error that are kept
_PORT_BYTES = 2
_DATA, _ERROR = 0, 1
_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # of RFC 6455


class Handshake:
    """The request for the websocket, and the check of its answer."""

    def __init__(self) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        digest = hashlib.sha1((key + _MAGIC).encode(), usedforsecurity=False).digest()
        self._accept = base64.b64encode(digest).decode()
        self.headers = {
            **{"Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key},
            **{"Sec-WebSocket-Protocol": PROTOCOL, "Accept": "*/*"},
        }

    def check(self, answer: Upgraded) -> None:
        accepted = answer.headers.get("sec-websocket-accept", "")
        protocol = answer.headers.get("sec-websocket-protocol", "")
        if accepted != self._accept or protocol != PROTOCOL:
            raise NotKubernetes(f"the API server does not support {PROTOCOL} for a port-forward")


class Channels:
    """The messages of one port-forward; no I/O."""

    def __init__(self) -> None:
        self._websocket = Connection(CLIENT)
        self._channel: int | None = None  # of the message that is being received
        self._to_skip = {_DATA: _PORT_BYTES, _ERROR: _PORT_BYTES}
        self.error = ""  # what the server says about the connection inside the pod
        self.is_over = False
        self.replies = b""  # to be sent to the server

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The bytes from the pod in the data that has arrived. Raises NotKubernetes."""
        self._websocket.receive_data(data)
        for event in self._websocket.events():
            if piece := self._take(event):
                yield piece
            if self.is_over:
                return

    def data(self, payload: bytes) -> bytes:
        """The frame with these bytes for the pod."""
        return self._websocket.send(BytesMessage(data=bytes([_DATA]) + payload))

    def close(self) -> bytes:
        self.is_over = True
        return self._websocket.send(CloseConnection(code=1000))

    def _take(self, event: Event) -> bytes:
        if isinstance(event, Ping):
            self.replies += self._websocket.send(event.response())
        elif isinstance(event, CloseConnection):
            self._closed(event)
        elif isinstance(event, TextMessage):
            raise NotKubernetes("the API server sent text in a port-forward")
        elif isinstance(event, BytesMessage):
            return self._payload(bytes(event.data), event.message_finished)
        return b""

    def _closed(self, event: CloseConnection) -> None:
        self.is_over = True
        if event.code != 1000 and not self.error:
            self.error = f"closed with code {int(event.code)} {event.reason or ''}".rstrip()

    def _payload(self, data: bytes, is_last: bool) -> bytes:
        if self._channel is None and data:
            self._channel = data[0]
            data = data[1:]
            if self._channel not in self._to_skip:
                raise NotKubernetes(f"the API server sent channel {self._channel} for one port")
        channel = self._channel
        if is_last:
            self._channel = None
        if channel is None:
            return b""
        skipped = min(self._to_skip[channel], len(data))
        self._to_skip[channel] -= skipped
        if channel == _DATA:
            return data[skipped:]
        self.error = (self.error + data[skipped:].decode(errors="replace"))[:MAX_ERROR]
        return b""


class PortForwards:
    """All open port-forwards; ``close`` closes them. Bytes wait in bounded buffers, both ways."""

    def __init__(self) -> None:
        self._pumps: set[asyncio.Task[None]] = set()

    async def connect(
        self, handshake: Handshake, answer: Upgraded, what: str, speaks_first: bool = True
    ) -> socket.socket:
        """A local socket that stands for *what*; *answer* is that to the *handshake*.

        Raises ConnectionRefusedError if nobody listens there, and Unreachable. If the server does
        not *speak first*, this cannot be known: then the socket ends at once.
        """
        try:
            handshake.check(answer)
            pump = _Pump(answer, what)
            if speaks_first:
                await pump.settle()
            ours, theirs = socket.socketpair()
        except BaseException:
            answer.stream.abort()
            raise
        ours.setblocking(False)
        task = asyncio.get_running_loop().create_task(pump.run(ours))
        self._pumps.add(task)
        task.add_done_callback(self._pumps.discard)
        task.add_done_callback(lambda _: ours.close())  # it may be cancelled before it begins
        return theirs

    async def close(self) -> None:
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)


class _Pump:
    """Moves bytes between a websocket and a local socket until either ends."""

    def __init__(self, answer: Upgraded, what: str) -> None:
        self._stream: ByteStream = answer.stream
        self._channels = Channels()
        self._what = what
        self._first = list(self._channels.feed(answer.rest))

    async def settle(self) -> None:
        """Wait for a sign that somebody is there; a while of silence counts as one."""
        try:
            async with asyncio.timeout(SETTLE):
                while not self._first:
                    self._reply()
                    self._check_open()
                    data = await self._stream.read()
                    if not data:
                        raise Unreachable(f"{self._what}: the API server closed the connection")
                    self._first += self._channels.feed(data)
        except TimeoutError:
            pass
        except OSError as error:
            if isinstance(error, ConnectionRefusedError):
                raise
            raise Unreachable(f"{self._what}: {error.strerror or error}") from error

    def _check_open(self) -> None:
        error = shortened(self._channels.error)
        if "connection refused" in error.lower():
            raise ConnectionRefusedError(f"{self._what}: {error}")
        if error or self._channels.is_over:
            raise Unreachable(f"{self._what}: {error or 'closed at once'}")

    async def run(self, ours: socket.socket) -> None:
        try:
            loop = asyncio.get_running_loop()
            ways = [loop.create_task(self._up(ours)), loop.create_task(self._down(ours))]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
            ours.close()
            await self._hang_up()
        finally:
            self._stream.abort()

    async def _up(self, ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(ours, CHUNK):
            self._stream.write(self._channels.data(data))
            await self._stream.drain()

    async def _down(self, ours: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        pieces = self._first
        while True:
            self._reply()
            for piece in pieces:
                await loop.sock_sendall(ours, piece)
            if self._channels.is_over or self._channels.error:
                return
            data = await self._stream.read()
            if not data:
                return
            pieces = list(self._channels.feed(data))

    def _reply(self) -> None:
        self._stream.write(self._channels.replies)
        self._channels.replies = b""

    async def _hang_up(self) -> None:
        """Tell the server, and let the last bytes leave."""
        if not self._channels.is_over:
            self._stream.write(self._channels.close())
        self._stream.transport.close()
        try:
            async with asyncio.timeout(CLOSING):
                await self._stream.wait_closed()
        except TimeoutError:
            pass
