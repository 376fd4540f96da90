"""A port of this machine has a bounded number of connections, and says so."""

from __future__ import annotations

import asyncio
import contextlib
import socket

from tests.bounds import HANG
from tfmesos.launcher.links.local_port import LOOPBACK, MOST, LocalPort


def test_one_connection_too_many_is_refused_and_its_place_is_free_once_another_ends():
    said, opened = asyncio.Queue(), asyncio.Queue()

    async def open_channel():
        ours, theirs = socket.socketpair()
        opened.put_nowait(theirs)
        return await asyncio.open_connection(sock=ours)

    async def connect(port):
        return await asyncio.open_connection(LOOPBACK, port)

    async def main():
        way = LocalPort(open_channel, said.put_nowait)
        way.bind()
        serving = asyncio.create_task(way.serve())
        held = [await connect(way.port) for _ in range(MOST)]
        channels = [await opened.get() for _ in held]
        reader, writer = await connect(way.port)
        with contextlib.suppress(ConnectionError):
            assert await asyncio.wait_for(reader.read(), HANG) == b""
        assert str(MOST) in await asyncio.wait_for(said.get(), HANG)
        channels[0].close()
        await asyncio.wait_for(said.get(), HANG)  # the end of the first one is said, too
        held.append(await connect(way.port))
        channels.append(await asyncio.wait_for(opened.get(), HANG))
        serving.cancel()
        await asyncio.wait([serving])
        for _, one in [*held, (reader, writer)]:
            one.close()
        for channel in channels:
            channel.close()

    asyncio.run(main())
