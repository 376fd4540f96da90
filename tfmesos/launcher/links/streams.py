"""Connections as pairs of a reader and a writer of asyncio."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext


async def streams_of(
    connection: socket.socket, limit: int, tls: SSLContext | None, within: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The streams of an open connection, as the server of *tls*.

    OSError if that fails or takes longer than *within*.
    """
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit)
    protocol = asyncio.StreamReaderProtocol(reader)
    try:
        async with asyncio.timeout(within):
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
    except BaseException:
        connection.close()
        raise
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def hear(reader: asyncio.StreamReader, most: int, silence: float, more: float) -> bytes:
    """The next bytes, b"" at the end; TimeoutError if nothing comes.

    The time limit covers the read only: a slow screen does not make a runner silent.
    """
    try:
        async with asyncio.timeout(silence):
            return await reader.read(most)
    except TimeoutError:  # of our own, if we were stopped: what came meanwhile is there then
        async with asyncio.timeout(min(silence, more)):
            return await reader.read(most)


async def hang_up(writer: asyncio.StreamWriter, within: float) -> None:
    """Close the connection; the last data gets a moment to be sent."""
    writer.close()
    try:
        async with asyncio.timeout(within):
            await writer.wait_closed()
    except OSError:
        writer.transport.abort()
