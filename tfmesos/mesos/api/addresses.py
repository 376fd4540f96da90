"""Addresses of masters: as users and masters write them, and ours as they see it."""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import urlsplit

from ...errors import MasterError

MASTER_PORT = 5050

_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
_HOST_NAME = re.compile(r"(?!.*[^.]{64})[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


class UnknownHost(MasterError):
    """The resolver says that there is no such name: waiting for it rarely helps."""


def host_and_port(text: str, default_port: int) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise ValueError(f"{port!r} is not a port")
    if not _is_host(host):
        raise ValueError(f"{host!r} is not a host name" if host else "a host name is missing")
    return f"{host}:{int(port)}"


def _is_host(text: str) -> bool:
    if not (text.startswith("[") and text.endswith("]")):
        return bool(_HOST_NAME.fullmatch(text))
    try:
        ipaddress.IPv6Address(text[1:-1])
    except ValueError:
        return False
    return True


def local_address_towards(url_or_host: str, port: int = MASTER_PORT) -> str:
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
    """Whether it is the resolver's no, and not its silence."""
    return isinstance(error, socket.gaierror) and error.errno in _NO_SUCH_NAME
