"""The bytes of one connection, in both directions, with bounded buffers."""

from __future__ import annotations

import asyncio

FULL = 256 * 1024  # bytes that have arrived and not been read; no more are taken from the kernel


class ByteStream(asyncio.Protocol):
    """One task at a time reads it. asyncio's StreamReader cannot tell whether it is empty."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._arrived = bytearray()
        self._is_over = False
        self._error: Exception | None = None  # with which it ended
        self._news = asyncio.Event()
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._lost = asyncio.Event()

    @property
    def is_quiet(self) -> bool:
        """Is it open, with nothing to read?"""
        return not (self._arrived or self._is_over or self.transport.is_closing())

    async def read(self) -> bytes:
        """What has arrived; b"" at the end. Raises OSError if the connection broke."""
        while not self._arrived and not self._is_over:
            self._news.clear()
            await self._news.wait()
        if not self._arrived and self._error is not None:
            raise self._error
        data = bytes(self._arrived)
        self._arrived.clear()
        self.transport.resume_reading()
        return data

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    async def drain(self) -> None:
        """Wait until there is room for more; ConnectionError if the other side is gone."""
        await self._has_room.wait()
        if self.transport.is_closing():
            raise ConnectionResetError("the connection was closed")

    def abort(self) -> None:
        self.transport.abort()

    @property
    def is_lost(self) -> bool:
        return self._lost.is_set()

    async def wait_closed(self) -> None:
        await self._lost.wait()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        if len(self._arrived) > FULL:
            self.transport.pause_reading()
        self._news.set()

    def eof_received(self) -> None:
        self._is_over = True
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_over = True
        self._error = error
        for event in (self._news, self._has_room, self._lost):
            event.set()

    def pause_writing(self) -> None:
        self._has_room.clear()

    def resume_writing(self) -> None:
        self._has_room.set()
