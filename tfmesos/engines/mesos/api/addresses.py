"""Addresses of masters, as users and masters write them."""

from __future__ import annotations

import ipaddress
import re

MASTER_PORT = 5050

_HOST_NAME = re.compile(r"(?!.*[^.]{64})[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


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
