"""Accepts connections, but only a few at a time that have not authenticated yet.

asyncio's own server accepts its whole backlog in one turn. When it runs out of file descriptors, it
logs one error per connection every second, and nobody can connect any more. Here any number of
unknown peers costs a bounded number of descriptors and one log line a minute.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ssl import SSLContext

log = logging.getLogger(__name__)

MAX_STRANGERS = 64
BACKLOG = 1024
AT_ONCE = 16  # connections in one turn of the loop
PAUSE = 0.5  # seconds to wait when no descriptor is free
SHORT_PAUSE = 0.01  # seconds within which connections of strangers are closed
HELD_UP = 0.5  # seconds by which a busy process may notice a timeout late
SAY_EVERY = 60.0  # seconds


def family_of(host: str) -> int:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


class Complaints:
    """Logs how many connections were refused, and why the last one was; once a minute at most."""

    def __init__(self) -> None:
        self._refused = 0
        self._said_at = float("-inf")

    def add(self, who: str, why: str) -> None:
        self._refused += 1
        now = time.monotonic()
        if now - self._said_at >= SAY_EVERY:
            log.warning("refused %d connection(s); the last, from %s: %s", self._refused, who, why)
            self._refused = 0
            self._said_at = now


class _Stranger:
    """A connection that has not authenticated yet, identified by its protocol."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.opening: asyncio.Task[None] | None = None
        self.transport: asyncio.Transport | None = None
        self.is_dropped = False
        self.expiry: asyncio.TimerHandle | None = None

    @property
    def is_gone(self) -> bool:
        return self.transport is not None and self.transport.is_closing()

    def drop(self) -> None:
        self.is_dropped = True
        self.forget_time()
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()  # it may be in the middle of TLS

    def forget_time(self) -> None:
        if self.expiry is not None:
            self.expiry.cancel()


class Acceptor:
    """Owns *listener* and gives each of its connections a new protocol from *make*.

    A connection that is not admitted within *admit_within* seconds is closed, and so is the oldest
    stranger when there are more than *room*. Must be used within the running loop.
    """

    def __init__(
        self,
        listener: socket.socket,
        make: Callable[[], asyncio.BaseProtocol],
        *,
        admit_within: float,
        room: Callable[[], int] = lambda: MAX_STRANGERS,
        complaints: Complaints | None = None,
        tls: SSLContext | None = None,
    ) -> None:
        self._listener = listener
        self._make = make
        self._tls = tls
        self._admit_within = admit_within
        self._room = room
        self._complaints = complaints or Complaints()
        self._loop = asyncio.get_running_loop()
        self._strangers: dict[asyncio.BaseProtocol, _Stranger] = {}  # the oldest first
        self._opening: set[asyncio.Task[None]] = set()
        self._retry: asyncio.TimerHandle | None = None
        listener.setblocking(False)
        self._listen()

    def admit(self, protocol: asyncio.BaseProtocol) -> None:
        """This connection has authenticated, or is closed: it no longer counts as a stranger."""
        if stranger := self._strangers.pop(protocol, None):
            stranger.forget_time()

    def close(self) -> None:
        """Stop listening, and close the connections that have not authenticated."""
        self._loop.remove_reader(self._listener)
        if self._retry is not None:
            self._retry.cancel()
        self._listener.close()
        while self._strangers:
            self._drop_oldest()

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._opening, return_exceptions=True)

    def _listen(self) -> None:
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        for _ in range(AT_ONCE):
            try:
                connection, address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                return self._without_descriptor(error)
            self._take(connection, address)

    def _without_descriptor(self, error: OSError) -> None:
        """Close half of the strangers to free descriptors; if there are none, wait."""
        self._complaints.add("somebody", os.strerror(error.errno or 0))
        leaving = (len(self._strangers) + 1) // 2
        for _ in range(leaving):
            self._drop_oldest()
        self._loop.remove_reader(self._listener)
        self._retry = self._loop.call_later(SHORT_PAUSE if leaving else PAUSE, self._listen)

    def _take(self, connection: socket.socket, address: tuple[str, int]) -> None:
        connection.setblocking(False)
        protocol, stranger = self._make(), _Stranger(f"{address[0]}:{address[1]}")
        self._strangers[protocol] = stranger
        self._give_time(protocol, stranger)
        opening = self._loop.create_task(self._open(connection, protocol, stranger))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        if len(self._strangers) > self._room():
            self._make_room()

    async def _open(
        self, connection: socket.socket, protocol: asyncio.BaseProtocol, stranger: _Stranger
    ) -> None:
        if stranger.is_dropped:
            connection.close()
            return
        stranger.opening = asyncio.current_task()
        try:
            opened = await self._loop.connect_accepted_socket(
                lambda: protocol, connection, ssl=self._tls
            )
        except OSError as error:  # it has gone already, or does not speak TLS
            connection.close()
            self.admit(protocol)
            if self._tls is not None:
                self._complaints.add(
                    stranger.who, f"the TLS handshake failed: {error.strerror or error}"
                )
            return
        stranger.transport = opened[0]
        if stranger.is_dropped:
            stranger.drop()

    def _make_room(self) -> None:
        for protocol in [p for p, stranger in self._strangers.items() if stranger.is_gone]:
            self.admit(protocol)
        while len(self._strangers) > self._room():
            who = self._drop_oldest()
            self._complaints.add(who, "too many connections have not authenticated yet")

    def _drop_oldest(self) -> str:
        stranger = self._strangers.pop(next(iter(self._strangers)))
        stranger.drop()
        return stranger.who

    def _give_time(self, protocol: asyncio.BaseProtocol, stranger: _Stranger) -> None:
        due = self._loop.time() + self._admit_within
        stranger.expiry = self._loop.call_at(due, self._expire, protocol, due)

    def _expire(self, protocol: asyncio.BaseProtocol, due: float) -> None:
        stranger = self._strangers[protocol]
        if self._loop.time() - due > HELD_UP:  # it may have spoken, and we had no time to listen
            return self._give_time(protocol, stranger)
        del self._strangers[protocol]
        if not stranger.is_gone:
            self._complaints.add(stranger.who, "it did not authenticate in time")
            stranger.drop()
