"""Peers prove the secret of their task; a stub then receives the runner."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cached_property

from ...errors import HandshakeError
from ...shared import handshake, wire
from ...shared.stdlib import sha256

PIECE = 16 * 1024  # bytes of the runner that wait for one task at a time


def keep_no_copies(writer: asyncio.StreamWriter) -> None:
    """Make ``drain`` wait until all is sent: a thousand tasks may be sent something at once."""
    writer.transport.set_write_buffer_limits(high=1, low=0)  # asyncio's TLS stalls with 0


class LauncherHandshake:
    """The launcher's side: feed the hello, send the challenge, feed the proof.

    Only tasks whose secret *secret_of* knows (the first one, or that of their welcome) get an
    answer. ``task`` may be believed once ``done``. *hash_of* tells the hash of the runner for a
    Python; ``python`` is the one of a stub, and None if it is the runner already.
    """

    def __init__(
        self,
        run: str,
        nonce: bytes,
        secret_of: Callable[[str, bool], bytes | None],
        hash_of: Callable[[str], str] = lambda python: "",
    ) -> None:
        self._run = run
        self._nonce = nonce.hex()
        self._secret_of = secret_of
        self._hash_of = hash_of
        self._awaited = ""
        self.task = ""
        self.python: str | None = None
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
            raise HandshakeError(f"an unexpected task: {self.task[:80]!r}")
        offered = {}
        if "runner" in message:
            self.python = handshake.text(message, "runner")
            offered["runner"] = self._hash_of(self.python)
        parties = (self._run, self.task, handshake.nonce(message), self._nonce, *offered.values())
        self._awaited = handshake.proof(secret, "runner", *parties)
        proof = handshake.proof(secret, "launcher", *parties)
        # In this order: a stub relies on positions, because it has no parser.
        return {"type": "challenge", "nonce": self._nonce, "proof": proof, **offered}


class Authentication:
    """*secret_of* returns the secret of a task, for its first or its later connections."""

    def __init__(
        self,
        run_id: str,
        secret_of: Callable[[str, bool], bytes | None],
        get_runners: Callable[[], Mapping[str, bytes]],
    ) -> None:
        """*get_runners* returns them by the Python that they are for; "" is for all others."""
        self._run_id = run_id
        self._secret_of = secret_of
        self._get_runners = get_runners
        self._hashes: dict[str, str] = {}

    @cached_property
    def _frames(self) -> dict[str, bytes]:
        """Made for the first stub; there is none if all runners are forked on this machine."""
        return {n: len(one).to_bytes(4, "big") + one for n, one in self._get_runners().items()}

    async def prove(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        decoder: wire.FrameDecoder,
    ) -> tuple[LauncherHandshake, int]:
        """The completed handshake, and how many of our messages the runner has received."""
        nonce = os.urandom(handshake.NONCE_BYTES)
        ours = LauncherHandshake(self._run_id, nonce, self._secret_of, self._hash_of)
        while data := await reader.read(wire.MAX_GREETING):
            for message in decoder.feed(data):
                answer = ours.feed(message)
                if answer is None:
                    decoder.limit = wire.MAX_FRAME
                    return ours, wire.count(message, "received")
                writer.write(wire.encode(answer))
        raise HandshakeError("it disconnected before it had authenticated")

    def _hash_of(self, python: str) -> str:
        known = python if python in self._frames else ""
        if known not in self._hashes:
            self._hashes[known] = sha256(memoryview(self._frames[known])[4:]).hexdigest()
        return self._hashes[known]

    async def send_runner(self, writer: asyncio.StreamWriter, python: str, within: float) -> None:
        """Send each piece *within* seconds; nothing else is sent before the last."""
        keep_no_copies(writer)
        frame = memoryview(self._frames[python if python in self._frames else ""])
        try:
            for at in range(0, len(frame), PIECE):
                writer.write(frame[at : at + PIECE])
                if not writer.transport.get_write_buffer_size():
                    continue  # it was taken at once
                async with asyncio.timeout(within):
                    await writer.drain()
        except TimeoutError:
            raise HandshakeError("it did not fetch its runner in time") from None
