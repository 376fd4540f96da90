"""Ports of this machine that lead to tasks which listen on the loopback of their node.

What the owner looks at should not be open to everybody who can reach the node. Each such task has
one port here for the whole run, which leads to its current attempt.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from ...shared.address import join_address, split_address
from .local_port import LOOPBACK, LocalPort, Streams
from .runner_link import RunnerLink

log = logging.getLogger(__name__)

# Joins the stream of an owner with a channel into a task, until one of them ends:
Enter = Callable[
    [str, Mapping[str, Any], asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]
]
Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class TaskPorts:
    def __init__(self, enter: Enter, spawn: Spawn, say: Callable[[str, str], object]) -> None:
        self._enter = enter
        self._spawn = spawn
        self._say = say
        self._led_to: dict[str, tuple[str, int]] = {}  # task -> its attempt, and the port of that
        self._ports: dict[str, LocalPort] = {}
        self._wanted: dict[str, int] = {}  # task -> where it was found under another launcher

    def open(self, link: RunnerLink, port: int) -> str:
        """The address that leads to *port* of a task; empty if there is none."""
        self._led_to[link.task] = link.task_id, port
        if link.task not in self._ports and not self._bind(link.task, 0):
            return ""
        return join_address(LOOPBACK, self._ports[link.task].port)

    def recall(self, link: RunnerLink, port: int, shown_at: str) -> None:
        """This address led there under an earlier launcher."""
        self._led_to[link.task] = link.task_id, port
        self._wanted[link.task] = split_address(shown_at)[1]

    def resume(self) -> None:
        """Listen where the previous launcher did, or elsewhere."""
        for task, port in self._wanted.items():
            if not self._bind(task, port, is_last=False) and self._bind(task, 0):
                where = join_address(LOOPBACK, self._ports[task].port)
                self._say(f"port {port} is taken; {task} is at http://{where} now", "warning")

    def _bind(self, task: str, port: int, is_last: bool = True) -> bool:
        way = LocalPort(lambda: self._channel(task), lambda why: log.debug("%s: %s", task, why))
        try:
            way.bind(port)
        except OSError as error:
            why = (
                f"cannot forward a port of this machine to {task}: {os.strerror(error.errno or 0)}"
            )
            if is_last:
                self._say(f"{why}; use tfrun forward {task}", "warning")
            return False
        self._ports[task] = way
        self._spawn(way.serve()).add_done_callback(lambda _: way.unbind())
        return True

    async def _channel(self, task: str) -> Streams:
        task_id, port = self._led_to[task]
        ours, theirs = socket.socketpair()
        owner = await asyncio.open_unix_connection(sock=theirs)
        self._spawn(self._join(task_id, {"do": "forward", "port": port}, *owner))
        return await asyncio.open_unix_connection(sock=ours)

    async def _join(
        self,
        task_id: str,
        request: Mapping[str, Any],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        try:
            with suppress(OSError):
                await self._enter(task_id, request, reader, writer)
        finally:
            writer.close()
