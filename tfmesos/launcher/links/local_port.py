"""A port of this machine that leads to a port of a task: one channel for each connection."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ...errors import FrameError
from ...shared import wire
from ...shared.channel import PIECE, Channel

READ_SIZE = 256 * 1024  # bytes
LOOPBACK = "127.0.0.1"
MOST = 60  # connections at a time; a runner has room for a few more channels

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class LocalPort:
    """*open_channel* opens the stream of a new channel; *say* reports a failed connection."""

    def __init__(
        self, open_channel: Callable[[], Awaitable[Streams]], say: Callable[[str], None]
    ) -> None:
        self._open_channel = open_channel
        self._say = say
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._socket: socket.socket
        self.port = 0

    def bind(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; OSError if that port is taken."""
        self._socket = socket.create_server((LOOPBACK, port))
        self.port = self._socket.getsockname()[1]

    async def serve(self) -> None:
        """Until cancelled."""
        try:
            self._server = await asyncio.start_server(self._accept, sock=self._socket)
            await asyncio.Event().wait()
        finally:
            await self._close()

    def unbind(self) -> None:
        """Nobody can connect any more."""
        self._server.close() if self._server is not None else self._socket.close()

    async def _close(self) -> None:
        self.unbind()
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MOST:
            writer.transport.abort()
            return self._say(f"refused a connection, because {MOST} are open")
        self._connections.add(task)
        try:
            problem = await self._lead(reader, writer)
            if problem:
                self._say(problem)
        except asyncio.CancelledError:
            pass  # of close(): asyncio would complain
        finally:
            self._connections.discard(task)
            writer.transport.abort() if writer.is_closing() else writer.close()

    async def _lead(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        try:
            channel = await self._open_channel()
        except OSError as error:
            return str(error)
        try:
            return await Passage((reader, writer), channel).run()
        finally:
            channel[1].close()


class Passage:
    """Passes data between a connection and a channel until both have sent everything."""

    def __init__(self, connection: Streams, stream: Streams) -> None:
        self._from, self._to = connection
        self._reader, self._writer = stream
        self._channel = Channel(0, self._writer.write)
        self._room = asyncio.Event()
        self._written: asyncio.Queue[int] = asyncio.Queue()
        self.problem = "the launcher is gone"

    async def run(self) -> str:
        """What went wrong, if anything."""
        sides = [asyncio.create_task(side()) for side in (self._send, self._give_credit)]
        try:
            await self._receive()
        except (OSError, FrameError) as error:
            self.problem = str(error)
        finally:
            for side in sides:
                side.cancel()
            await asyncio.gather(*sides, return_exceptions=True)
        return self.problem

    async def _send(self) -> None:
        """From the connection into the channel, as far as there is room."""
        while True:
            while self._channel.room <= 0:
                self._room.clear()
                await self._room.wait()
            try:
                data = await self._from.read(min(PIECE, self._channel.room))
            except OSError:
                return self._writer.close()  # it was reset: so is the other end
            if not data:
                return self._channel.end()
            self._channel.write(data)
            await self._writer.drain()

    async def _receive(self) -> None:
        """From the channel. Data waits in the connection; what it has not taken gets no credit."""
        decoder = wire.FrameDecoder(wire.MAX_FRAME)
        while data := await self._reader.read(READ_SIZE):
            for message in decoder.feed(data):
                kind = message["type"]
                if kind == "data":
                    received = self._channel.arrived(message)
                    self._to.write(received)
                    self._written.put_nowait(len(received))
                elif kind == "credit":
                    self._channel.credited(message)
                    self._room.set()
                elif kind == "eof":
                    with suppress(OSError):
                        self._to.write_eof()
                elif kind == "done":
                    self.problem = wire.field(message, "problem", str)
                    await self._flush()
                    return

    async def _flush(self) -> None:
        with suppress(OSError):
            await self._to.drain()

    async def _give_credit(self) -> None:
        while True:
            size = await self._written.get()
            await self._flush()
            self._channel.took(size)
