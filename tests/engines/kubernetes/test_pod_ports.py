"""Ports of this machine that lead into pods."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, asynccontextmanager

from tests.bounds import HANG
from tests.descriptors import descriptors_left
from tests.sentences import names
from tfmesos import acceptor
from tfmesos.engines.api import NoKeys
from tfmesos.engines.kubernetes import pod_ports
from tfmesos.engines.kubernetes.api.error import Unreachable
from tfmesos.engines.kubernetes.pod_ports import LocalPorts


@asynccontextmanager
async def ports(dial, say=print):
    """Local ports, with a group for them that is cancelled in the end."""
    ready: asyncio.Future = asyncio.get_running_loop().create_future()

    async def live():
        async with asyncio.TaskGroup() as group:
            ready.set_result(group)
            await asyncio.Event().wait()

    living = asyncio.create_task(live())
    async with asyncio.timeout(HANG):
        try:
            yield LocalPorts(dial, say, NoKeys()), await ready
        finally:
            living.cancel()
            await asyncio.wait([living])


def pods_to_hand():
    """The far ends of what is dialled, as they are dialled; and what dials."""
    pods: asyncio.Queue[socket.socket] = asyncio.Queue()

    async def dial(pod, port):
        near, far = socket.socketpair()
        pods.put_nowait(far)
        return near

    return pods, dial


async def talk(port, question):
    """All that is answered there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(question)
        return await reader.read()
    finally:
        writer.close()


async def echo(pod, port):
    """A pod that says back what it hears, after all of five bytes."""
    near, far = socket.socketpair()
    asyncio.get_running_loop().create_task(_echo(far))
    return near


async def _echo(connection):
    reader, writer = await asyncio.open_connection(sock=connection)
    writer.write(await reader.readexactly(5))
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
    pods, dial = pods_to_hand()

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


def test_without_descriptors_browsers_wait_and_the_run_goes_on(monkeypatch):
    monkeypatch.setattr(pod_ports, "PAUSE", 0.01)
    why = "refused 1 connection(s); the last, from somebody: Too many open files"

    async def main():
        loop, said = asyncio.get_running_loop(), asyncio.Queue()
        monkeypatch.setattr(acceptor.log, "warning", lambda it, *of: said.put_nowait(it % of))
        async with ports(echo) as (local, group):
            port = local.open("tensorboard-0", group)
            with socket.socket() as browser:
                browser.setblocking(False)
                with descriptors_left(0):
                    await loop.sock_connect(browser, ("127.0.0.1", port))
                    assert await said.get() == why
                await loop.sock_sendall(browser, b"GET /")
                assert await loop.sock_recv(browser, 100) == b"GET /"

    asyncio.run(main())


def test_a_port_that_cannot_be_had_is_told_in_a_line(monkeypatch):
    said = []

    async def main():
        async with ports(echo, lambda *it: said.append(it)) as (local, group):
            with descriptors_left(0):
                assert local.open("tensorboard-0", group) is None
            local.close("tensorboard-0")

    asyncio.run(main())
    ((text, level),) = said
    assert names(text, "tensorboard-0", "Too many open files", "pod") and level == "warning"


def test_no_more_connections_are_carried_than_there_is_room_for(monkeypatch):
    monkeypatch.setattr(pod_ports, "ROOM", 2)
    pods, dial = pods_to_hand()

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            with ExitStack() as stack:
                for _ in range(3):
                    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                with await pods.get():
                    second = stack.enter_context(await pods.get())
                    for _ in range(20):
                        await asyncio.sleep(0)  # turns in which the third could be carried
                    assert pods.empty()
                stack.enter_context(await pods.get())
                second.close()

    asyncio.run(main())


def test_a_client_that_has_said_all_still_gets_the_answer():
    async def dial(pod, port):
        near, far = socket.socketpair()
        asyncio.get_running_loop().create_task(answer(far))
        return near

    async def answer(connection):
        reader, writer = await asyncio.open_connection(sock=connection)
        await reader.readexactly(5)
        for _ in range(20):
            await asyncio.sleep(0)  # turns in which the end of the question arrives
        writer.write(b"page")
        writer.close()

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /")
            writer.write_eof()
            assert await reader.read() == b"page"
            writer.close()

    asyncio.run(main())


def test_a_client_that_has_gone_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(pod_ports, "LAST_ANSWER", 0.05)
    pods, dial = pods_to_hand()

    async def main():
        async with ports(dial) as (local, group):
            port = local.open("tensorboard-0", group)
            socket.create_connection(("127.0.0.1", port)).close()
            with await pods.get() as far:
                far.setblocking(False)
                assert await asyncio.get_running_loop().sock_recv(far, 1) == b""

    asyncio.run(main())
