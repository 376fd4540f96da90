"""Where the runners find the launcher, and how the links to them are encrypted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..config.launch import LaunchConfig
from ..errors import SpecError
from ..shared.address import join_address
from .api import Listens

if TYPE_CHECKING:
    from ssl import SSLContext


def link_tls(config: LaunchConfig, host: str, run_id: str) -> tuple[SSLContext | None, str]:
    """For links to us at *host*: a context with a certificate of the run, and its hash."""
    asked_by = config.asks_for_link_tls(host)
    if not asked_by:
        return None, ""
    from .certificate import make_certificate  # not cheap, and often not needed

    return make_certificate(run_id, asked_by)


async def listen_for_all(listener: Listens, host: str, port: int, tls: SSLContext | None) -> str:
    """Listen at every address of ours: *host* may be that of a gate before this machine."""
    try:
        _, port = await listener.listen("::" if ":" in host else "0.0.0.0", port, tls)
    except OSError as error:
        problem = f"{join_address(host, port)}: cannot listen there: {error.strerror}"
        raise SpecError(None, "advertise", problem) from error
    return join_address(host, port)
