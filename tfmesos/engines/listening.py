"""The address where runners reach the launcher, and the encryption of their links."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from errno import EADDRNOTAVAIL
from typing import TYPE_CHECKING

from ..config.launch_config import LaunchConfig
from ..errors import EngineError, SpecError
from ..shared.address import join_address, split_address
from .api import Context, Listens

if TYPE_CHECKING:
    from ssl import SSLContext

LAUNCHER = "launcher"  # the key of the run that is the address of its launcher
CERTIFICATE = "certificate"  # the key of the run that is its private one, and the certificate
LISTEN_WITHIN, LISTEN_EVERY = 15.0, 0.25  # seconds for a port to be free again


def link_tls(config: LaunchConfig, host: str, context: Context) -> tuple[SSLContext | None, str]:
    """For links to *host*: a TLS context with the certificate of the run, and its hash."""
    asked_by = config.asks_for_link_tls(host)
    if not asked_by:
        return None, ""
    from .certificate import make_certificate, tls_of  # not cheap, and often not needed

    certificate = context.keys.get(CERTIFICATE) or make_certificate(context.run_id, asked_by)
    context.keys.keep(CERTIFICATE, certificate)
    return tls_of(certificate)


async def listen_as_before(
    listener: Listens, context: Context, own_host: Callable[[], Awaitable[str]]
) -> tuple[str, str]:
    """Listen where the tasks find us, and say where that is, with the hash of our certificate.

    That is where the previous launcher was, if there was one: its runners dial that address.
    """
    config = context.config
    if known := context.keys.get(LAUNCHER):
        if other := await context.keys.other_holder(context.run_id):
            raise EngineError(f"it is held by {other}")
        host, port = split_address(known)
    else:
        host, port = config.advertise or (await own_host(), 0)
    tls, certificate = link_tls(config, host, context)
    if config.advertise is not None:
        launcher = await listen_for_all(listener, host, port, tls)
    elif not port:
        launcher = join_address(*await listener.listen(host, 0, tls))
    else:
        launcher = join_address(*await listen_again(listener, host, port, tls))
    context.keys.keep(LAUNCHER, launcher)
    return launcher, certificate


async def listen_again(
    listener: Listens, host: str, port: int, tls: SSLContext | None
) -> tuple[str, int]:
    """Listen where another launcher did. Raises EngineError if the port stays taken."""
    end = time.monotonic() + LISTEN_WITHIN
    while True:
        try:
            return await listener.listen(host, port, tls)
        except OSError as error:
            if time.monotonic() >= end or error.errno == EADDRNOTAVAIL:
                where = join_address(host, port)
                problem = (
                    f"the tasks look for their launcher at {where}, and it cannot listen there"
                )
                raise EngineError(f"{problem}: {error.strerror}") from error
        await asyncio.sleep(LISTEN_EVERY)


async def listen_for_all(listener: Listens, host: str, port: int, tls: SSLContext | None) -> str:
    """Listen at every address of ours: *host* may be that of a gate before this machine."""
    try:
        _, port = await listener.listen("::" if ":" in host else "0.0.0.0", port, tls)
    except OSError as error:
        problem = f"{join_address(host, port)}: cannot listen there: {error.strerror}"
        raise SpecError(None, "advertise", problem) from error
    return join_address(host, port)
