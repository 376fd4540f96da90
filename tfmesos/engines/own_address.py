"""The address of this machine as others see it."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

from ..errors import MasterError

_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


class UnknownHost(MasterError):
    """The resolver says that there is no such name: waiting for it rarely helps."""


def local_address_towards(url_or_host: str, port: int) -> str:
    """This machine's own IP address on the route to a host, as that host would see it.

    Connecting a UDP socket only asks the routing table; no packet is sent.
    """
    url = urlsplit(url_or_host if "://" in url_or_host else f"//{url_or_host}")
    target = (url.hostname or url_or_host, url.port or port)
    try:
        family, kind, _, _, address = socket.getaddrinfo(*target, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError as error:
        problem = UnknownHost if is_unknown(error) else MasterError
        raise problem(f"cannot find {target[0]}: {error.strerror or error}") from error


def is_unknown(error: OSError) -> bool:
    """Whether the resolver says that the name does not exist, rather than not answering."""
    return isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
