"""The owner's end of a channel into a task, over the control socket of the run."""

from __future__ import annotations

import socket
from collections.abc import Callable

from ...errors import FrameError
from ...node.loop import READ, WRITE, Loop
from ...shared import wire
from ...shared.channel import Channel
from ..control import converse
from ..run_files import RunDirectory

READ_SIZE = 256 * 1024  # bytes
LAUNCHER_GONE = 69  # EX_UNAVAILABLE


class ChannelEnd:
    """Has ``code`` and ``problem`` once ``is_over``. Its callbacks may raise only OSError."""

    def __init__(
        self,
        loop: Loop,
        connection: socket.socket,
        take: Callable[[int, bytes], object],
        has_room: Callable[[], object] = lambda: None,
        ended: Callable[[], object] = lambda: None,
    ) -> None:
        """*take* gets the number of a stream and its data; *ended* is called at the end of both."""
        self._loop = loop
        self._connection = connection
        self._take = take
        self._has_room = has_room
        self._ended = ended
        self._decoder = wire.FrameDecoder(wire.MAX_FRAME)
        self._writing = bytearray()
        self.is_over = False
        self.code = LAUNCHER_GONE
        self.problem = "the launcher is gone"
        connection.setblocking(False)
        self.channel = Channel(0, self._send)
        self._watch()

    def _send(self, frame: bytes) -> None:
        self._writing += frame
        self._watch()

    def _watch(self) -> None:
        if not self.is_over:
            events = READ | WRITE if self._writing else READ
            self._loop.watch(self._connection.fileno(), events, self._ready)

    def _ready(self) -> None:
        try:
            if self._writing:
                del self._writing[: self._connection.send(self._writing)]
        except BlockingIOError:
            pass
        except OSError:
            self._writing.clear()  # what it said last may be there to be read
        self._watch()
        try:
            data = self._connection.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            return self._finish()
        for message in self._decoder.feed(data):
            self._handle(message)

    def _handle(self, message: wire.Message) -> None:
        if self.is_over:
            return
        kind = message["type"]
        if kind == "data":
            data = self.channel.arrived(message)
            self._take(message["stream"], data)
            self.channel.took(len(data))
        elif kind == "credit":
            self.channel.credited(message)
            self._has_room()
        elif kind == "eof":
            self._ended()
        elif kind == "done":
            self.code = wire.count(message, "code")
            self.problem = wire.field(message, "problem", str)
            self._finish()
        else:
            raise FrameError(f"a launcher that says {kind!r}")

    def _finish(self) -> None:
        self.is_over = True
        self._loop.unwatch(self._connection.fileno())
        self._connection.close()

    def close(self) -> None:
        """Leave: whatever was begun ends."""
        if not self.is_over:
            self._finish()


def connect(run: RunDirectory, task: str, **request: object) -> socket.socket:
    """A channel into *task*. Raises NoAnswer or Refused."""
    connection, _ = converse(run, "inside", task=task, request=request)
    return connection
