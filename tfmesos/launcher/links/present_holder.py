"""Asks who holds a run, at the address where its tasks look for their launcher.

Files can be copied and go out of date; a launcher that answers is certainly alive. Both sides prove
the secret by which launchers of the run know each other, as runner and launcher do.
"""

from __future__ import annotations

import asyncio
import os
import ssl

from ...errors import FrameError, HandshakeError
from ...shared import link_timeouts, wire
from ...shared.address import split_address
from ...shared.handshake import NONCE_BYTES, RunnerHandshake, expect, text

ASKING = "launcher"  # the caller, where others name their task


async def present_holder(address: str, run_id: str, secret: bytes, *, has_tls: bool = False) -> str:
    """The launcher that answers at *address*, in words; empty if none does.

    A launcher that is only slow must not lose its run, so it has more time to answer than runners
    allow.
    """
    try:
        async with asyncio.timeout(link_timeouts.SILENCE_TIMEOUT):
            return await _ask(address, run_id, secret, _no_certificate() if has_tls else None)
    except (OSError, FrameError, HandshakeError):
        return ""


def _no_certificate() -> ssl.SSLContext:
    """The proof inside TLS shows who is there."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


async def _ask(address: str, run_id: str, secret: bytes, tls: ssl.SSLContext | None) -> str:
    reader, writer = await asyncio.open_connection(*split_address(address), ssl=tls)
    handshake = RunnerHandshake(secret, run_id, ASKING, os.urandom(NONCE_BYTES))
    decoder = wire.FrameDecoder()
    try:
        writer.write(wire.encode(handshake.hello()))
        while data := await reader.read(wire.MAX_GREETING):
            for message in decoder.feed(data):
                if handshake.done:
                    expect(message, "holder")
                    return text(message, "name")
                writer.write(wire.encode({**handshake.feed(message), "received": 0}))
    finally:
        writer.transport.abort()
    return ""
