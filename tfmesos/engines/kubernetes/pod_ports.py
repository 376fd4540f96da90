"""Ports of this machine that lead into pods, through the API server.

A browser can rarely reach a pod. So what people look at listens on the loopback of its pod, and we
listen on the same port of our loopback.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable

from ...acceptor import Complaints
from ...errors import TFMesosError
from ..api import Keys

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
CHUNK = 32 * 1024  # bytes moved at once
ROOM = 64  # connections of one port; others wait
PAUSE = 0.5  # seconds to wait when no descriptor is free
LAST_ANSWER = 10.0  # seconds to wait for it after a client has sent everything: it may be gone

Dial = Callable[[str, int], Awaitable[socket.socket]]  # a pod and its port


class LocalPorts:
    """One port for each of these pods. *dial* connects to a pod.

    The *keys* of the run hold the ports, so that the next launcher uses the same ones.
    """

    def __init__(self, dial: Dial, say: Callable[[str, str], None], keys: Keys) -> None:
        self._dial = dial
        self._say = say
        self._keys = keys
        self._complaints = Complaints()
        self._served: dict[str, asyncio.Task[None]] = {}

    def known(self, pod: str) -> int | None:
        """The port through which the previous launcher reached *pod*."""
        found = self._keys.get(_key(pod))
        return int(found) if found else None

    def open(self, pod: str, group: asyncio.TaskGroup) -> int | None:
        """A port that leads to the same port of *pod*, while *group* lasts or until closed."""
        try:
            listening = socket.create_server((LOOPBACK, self.known(pod) or 0))
        except OSError as error:
            why = f"cannot forward a port of this machine to {pod}: {os.strerror(error.errno or 0)}"
            self._say(f"{why}; use the address of its pod", "warning")
            return None
        listening.setblocking(False)
        port = int(listening.getsockname()[1])
        task = group.create_task(self._serve(listening, pod, port))
        _close_after(task, listening)
        self._served[pod] = task
        self._keys.keep(_key(pod), str(port))
        return port

    def close(self, pod: str) -> None:
        if task := self._served.pop(pod, None):
            task.cancel()

    async def _serve(self, listening: socket.socket, pod: str, port: int) -> None:
        room = asyncio.Semaphore(ROOM)
        async with asyncio.TaskGroup() as group:
            while True:
                await room.acquire()
                near = await self._accept(listening)
                carrying = group.create_task(self._carry(near, pod, port))
                _close_after(carrying, near)
                carrying.add_done_callback(lambda _: room.release())

    async def _accept(self, listening: socket.socket) -> socket.socket:
        while True:
            try:
                near, _ = await asyncio.get_running_loop().sock_accept(listening)
                near.setblocking(False)
                return near
            except OSError as error:
                self._complaints.add("somebody", os.strerror(error.errno or 0))
                await asyncio.sleep(PAUSE)

    async def _carry(self, near: socket.socket, pod: str, port: int) -> None:
        try:
            far = await self._dial(pod, port)
        except (OSError, TFMesosError) as error:
            log.debug("no connection to port %d of %s: %s", port, pod, error)
            return
        with far:
            far.setblocking(False)
            await _join(near, far)


def _key(pod: str) -> str:
    return f"port of {pod}"


def _close_after(task: asyncio.Task[None], used: socket.socket) -> None:
    """It may be cancelled before it begins."""
    task.add_done_callback(lambda _: used.close())


async def _join(near: socket.socket, far: socket.socket) -> None:
    """Move bytes both ways until *far* ends, or *near*, which may still wait for an answer."""
    ways = [asyncio.ensure_future(_copy(near, far)), asyncio.ensure_future(_copy(far, near))]
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.wait(ways[1:], timeout=LAST_ANSWER)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def _copy(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, CHUNK):
        await loop.sock_sendall(target, data)
