"""Who connects proves the secret of its task; who comes as a stub is sent the runner."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable

from ..errors import HandshakeError
from ..node import wire
from ..node.handshake import NONCE_BYTES, LauncherHandshake

PIECE = 16 * 1024  # bytes of the runner that wait for one task at a time


class Authentication:
    """*secret_of* tells the secret of a task, for its first or its further connections."""

    def __init__(
        self, run_id: str, secret_of: Callable[[str, bool], bytes | None], runner: bytes
    ) -> None:
        self._run_id, self._secret_of = run_id, secret_of
        self._runner = len(runner).to_bytes(4, "big") + runner  # one for all
        self._runner_hash = hashlib.sha256(runner).hexdigest()

    async def prove(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> tuple[LauncherHandshake, int]:
        """The handshake, done, and how many of our messages the runner has."""
        nonce = os.urandom(NONCE_BYTES)
        handshake = LauncherHandshake(self._run_id, nonce, self._secret_of, self._runner_hash)
        while data := await reader.read(wire.MAX_GREETING):
            for message in decoder.feed(data):
                answer = handshake.feed(message)
                if answer is None:
                    decoder.limit = wire.MAX_FRAME
                    return handshake, wire.count(message, "received")
                writer.write(wire.encode(answer))
        raise HandshakeError("it left before it had proved the secret")

    async def send_runner(self, writer: asyncio.StreamWriter, within: float) -> None:
        """Each piece *within* so many seconds; nothing else is sent before the last."""
        writer.transport.set_write_buffer_limits(0)  # a thousand wait at once: keep no copies
        frame = memoryview(self._runner)
        try:
            for at in range(0, len(frame), PIECE):
                writer.write(frame[at : at + PIECE])
                async with asyncio.timeout(within):
                    await writer.drain()
        except TimeoutError:
            raise HandshakeError("it did not take its runner in time") from None
