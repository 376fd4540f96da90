"""Host and port as one text."""

from __future__ import annotations


def join_address(host: str, port: int) -> str:
    """``host:port``, with brackets round an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port`` or ``[IPv6]:port``; ValueError if it is neither."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    name = host[1:-1] if bracketed else host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not name or not colon or not 0 <= number <= 65535 or (":" in name and not bracketed):
        raise ValueError(f"{address!r} is not host:port")
    return name, number
