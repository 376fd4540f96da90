"""Who connects proves the secret of its task; who comes as a stub is sent the runner."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable

from ...errors import HandshakeError
from ...node import handshake, wire

PIECE = 16 * 1024  # bytes of the runner that wait for one task at a time


def keep_no_copies(writer: asyncio.StreamWriter) -> None:
    """Have ``drain`` wait until all is sent: a thousand tasks may be sent something at once."""
    writer.transport.set_write_buffer_limits(high=1, low=0)  # asyncio's TLS stalls with 0


class LauncherHandshake:
    """The launcher's side: feed the hello, send the challenge, feed the proof.

    Only tasks whose secret *secret_of* knows (their first one, or that of their welcome) get an
    answer. ``task`` may be believed once ``done``. *runner* is the hash of what it is sent if
    ``is_stub``.
    """

    def __init__(
        self,
        run: str,
        nonce: bytes,
        secret_of: Callable[[str, bool], bytes | None],
        runner: str = "",
    ) -> None:
        self._run, self._nonce, self._secret_of = run, nonce.hex(), secret_of
        self._runner = runner
        self._awaited = ""
        self.task = ""
        self.is_stub = False
        self.done = False

    def feed(self, message: wire.Message) -> wire.Message | None:
        """The challenge in answer to a hello; None, and ``done``, for a good proof."""
        if not self._awaited:
            return self._challenge(message)
        handshake.expect(message, "proof")
        if self.done or not handshake.is_same(handshake.text(message, "proof"), self._awaited):
            raise HandshakeError("a wrong proof for task " + self.task)
        self.done = True
        return None

    def _challenge(self, message: wire.Message) -> wire.Message:
        handshake.expect(message, "hello")
        self.task = handshake.text(message, "task")
        secret = self._secret_of(self.task, message.get("again") is True)
        if handshake.text(message, "run") != self._run or secret is None:
            raise HandshakeError(f"a task that is not expected: {self.task[:80]!r}")
        self.is_stub = message.get("runner") is True
        offered = {"runner": self._runner} if self.is_stub else {}
        parties = (self._run, self.task, handshake.nonce(message), self._nonce, *offered.values())
        self._awaited = handshake.proof(secret, "runner", *parties)
        proof = handshake.proof(secret, "launcher", *parties)
        # In this order: a stub goes by the places, it has no parser.
        return {"type": "challenge", "nonce": self._nonce, "proof": proof, **offered}


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
        nonce = os.urandom(handshake.NONCE_BYTES)
        ours = LauncherHandshake(self._run_id, nonce, self._secret_of, self._runner_hash)
        while data := await reader.read(wire.MAX_GREETING):
            for message in decoder.feed(data):
                answer = ours.feed(message)
                if answer is None:
                    decoder.limit = wire.MAX_FRAME
                    return ours, wire.count(message, "received")
                writer.write(wire.encode(answer))
        raise HandshakeError("it left before it had proved the secret")

    async def send_runner(self, writer: asyncio.StreamWriter, within: float) -> None:
        """Each piece *within* so many seconds; nothing else is sent before the last."""
        keep_no_copies(writer)
        frame = memoryview(self._runner)
        try:
            for at in range(0, len(frame), PIECE):
                writer.write(frame[at : at + PIECE])
                if not writer.transport.get_write_buffer_size():
                    continue  # it was taken at once
                async with asyncio.timeout(within):
                    await writer.drain()
        except TimeoutError:
            raise HandshakeError("it did not take its runner in time") from None
