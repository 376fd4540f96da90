"""Ports of this machine that lead into pods."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager

from tests.bounds import HANG
from tfmesos.kubernetes.api.error import Unreachable
from tfmesos.kubernetes.local_ports import LocalPorts


@asynccontextmanager
async def ports(dial):
    """Local ports, with a group for them that is cancelled in the end."""
    ready: asyncio.Future = asyncio.get_running_loop().create_future()

    async def live():
        async with asyncio.TaskGroup() as group:
            ready.set_result(group)
            await asyncio.Event().wait()

    living = asyncio.create_task(live())
    async with asyncio.timeout(HANG):
        try:
            yield LocalPorts(dial), await ready
        finally:
            living.cancel()
            await asyncio.wait([living])


async def talk(port, question):
    """All that is answered there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(question)
        return await reader.read()
    finally:
        writer.close()


def test_what_a_browser_asks_is_answered_by_the_pod_at_the_same_port():
    asked = []

    async def dial(pod, port):
        asked.append((pod, port))
        near, far = socket.socketpair()
        asyncio.get_running_loop().create_task(answer(far))
        return near

    async def answer(connection):
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(await reader.readexactly(5) * 100_000)
        writer.close()

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            answers = await asyncio.gather(talk(port, b"GET /"), talk(port, b"PUT /"))
            assert answers == [b"GET /" * 100_000, b"PUT /" * 100_000]
            assert asked == [("tensorboard-0", port)] * 2

    asyncio.run(main())


def test_a_pod_that_cannot_be_had_ends_the_connection_and_no_other():
    async def dial(pod, port):
        raise Unreachable("the API server is away")

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            assert await talk(port, b"") == b""
            assert await talk(port, b"") == b""

    asyncio.run(main())


def test_nobody_listens_after_the_pod_is_gone_and_open_connections_end():
    pods: asyncio.Queue[socket.socket] = asyncio.Queue()

    async def dial(pod, port):
        near, far = socket.socketpair()
        pods.put_nowait(far)
        return near

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            talking = asyncio.create_task(talk(port, b"GET /"))
            with await pods.get():
                local.close("tensorboard-0")
                assert await talking == b""
            while True:
                try:
                    await talk(port, b"")
                except ConnectionRefusedError:
                    break

    asyncio.run(main())
