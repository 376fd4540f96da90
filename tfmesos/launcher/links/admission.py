"""Who may speak for a task: whoever proves its secret.

Until then a peer is a stranger, with tight limits on time, bytes and number.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...acceptor import BACKLOG, Acceptor, Complaints, family_of
from ...errors import FrameError, HandshakeError
from ...shared import wire
from ...shared.address import join_address
from .authentication import Authentication, LauncherHandshake
from .exchange import Limits
from .present_holder import ASKING
from .runner_link import RunnerLink

if TYPE_CHECKING:
    from ssl import SSLContext

CHUNK = 256 * 1024  # bytes

Connected = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
# The link of a task, for its runner at this stream, which has sent this many messages. Raises
# HandshakeError if it may not speak for the task (any more).
Welcome = Callable[[str, asyncio.StreamWriter, int], RunnerLink]


class Admission:
    """*count_awaited* returns how many runners are expected; strangers get room besides."""

    def __init__(
        self,
        authentication: Authentication,
        limits: Limits,
        holder: str,
        count_awaited: Callable[[], int],
    ) -> None:
        """*holder* is the answer to other launchers of this run that ask who holds it."""
        self._authentication = authentication
        self._limits = limits
        self._holder = holder
        self._count_awaited = count_awaited
        self._complaints = Complaints()
        self._acceptors: list[Acceptor] = []

    def listen(
        self, host: str, port: int, connected: Connected, tls: SSLContext | None
    ) -> tuple[str, int]:
        """Accept connections at *host* and *port* (0: any free one), and say where that is."""
        listener = socket.create_server((host, port), family=family_of(host), backlog=BACKLOG)
        where: tuple[str, int] = listener.getsockname()[:2]

        def protocol() -> asyncio.BaseProtocol:
            return asyncio.StreamReaderProtocol(asyncio.StreamReader(CHUNK // 2), connected)

        acceptor = Acceptor(
            listener,
            protocol,
            admit_within=2 * self._limits.handshake,
            room=lambda: self._limits.strangers + self._count_awaited(),
            complaints=self._complaints,
            tls=tls,
        )
        self._acceptors.append(acceptor)
        return where

    def close(self) -> None:
        for acceptor in self._acceptors:
            acceptor.close()

    async def wait_closed(self) -> None:
        for acceptor in self._acceptors:
            await acceptor.wait_closed()

    async def admit(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
        welcome: Welcome,
    ) -> RunnerLink | None:
        """The link of the runner at this connection; None if it has none."""
        try:
            handshake, arrived = await self._prove(reader, writer, decoder)
            if handshake.task == ASKING:
                writer.write(wire.encode({"type": "holder", "name": self._holder}))
                return None
            if handshake.python is not None:
                await self._authentication.send_runner(
                    writer, handshake.python, self._limits.silence
                )
            return welcome(handshake.task, writer, arrived)
        except TimeoutError:
            self._refuse(writer, "it did not authenticate in time")
        except (OSError, FrameError, HandshakeError) as error:
            self._refuse(writer, str(error))
        return None

    async def _prove(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> tuple[LauncherHandshake, int]:
        try:
            async with asyncio.timeout(self._limits.handshake):
                return await self._authentication.prove(reader, writer, decoder)
        finally:
            for acceptor in self._acceptors:
                acceptor.admit(writer.transport.get_protocol())

    def _refuse(self, writer: asyncio.StreamWriter, reason: str) -> None:
        peer = writer.get_extra_info("peername")
        who = join_address(*peer[:2]) if peer else "a peer that has gone"
        self._complaints.add(who, reason)
