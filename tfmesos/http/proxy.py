"""Reaches a server through an HTTP proxy: a tunnel that the proxy cannot look into."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

import h11

from ..record import Record
from .byte_stream import ByteStream
from .connection import Connection, Disconnected, HttpError

if TYPE_CHECKING:
    import ssl

SCHEMES = {"http": 80, "https": 443}


class ProxyFailed(ConnectionError):
    """The proxy cannot be reached, or does not let us through."""


class Proxy(Record):
    """*authorization* is the credential for the proxy; it appears in no text."""

    scheme: str
    host: str
    port: int
    authorization: bytes = b""

    @classmethod
    def of(cls, url: str) -> Proxy:
        """Raises ValueError if *url* names no proxy that can be used."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in SCHEMES:
            raise ValueError(f"{parts.scheme} proxies are not supported, only http and https")
        if not parts.hostname:
            raise ValueError("it has no host")
        port = parts.port or SCHEMES[parts.scheme]
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        words = b"Basic " + base64.b64encode(login.encode()) if parts.username else b""
        return cls(parts.scheme, parts.hostname, port, words)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self})"


async def open_tunnel(stream: ByteStream, proxy: Proxy, host: str, port: int) -> None:
    """Have the proxy at the other end of *stream* connect it to the server."""
    target = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    headers = [(b"Host", target.encode())]
    if proxy.authorization:
        headers.append((b"Proxy-Authorization", proxy.authorization))
    connection = Connection(stream, h11.CLIENT)
    connection.send(h11.Request(method="CONNECT", target=target, headers=headers))
    connection.send(h11.EndOfMessage())
    try:
        answer = await connection.receive()
        while isinstance(answer, h11.InformationalResponse):
            answer = await connection.receive()
    except (HttpError, Disconnected) as error:
        raise ProxyFailed(f"the proxy does not answer as one: {error}") from error
    assert isinstance(answer, h11.Response)
    if not 200 <= answer.status_code < 300:
        raise ProxyFailed(f"the proxy answered {_words(answer)}")
    if connection.unparsed:
        raise ProxyFailed("the proxy spoke before the server could")


def _words(answer: h11.Response) -> str:
    reason = answer.reason.decode("latin-1", "replace")[:100]
    way_out = ": it requires a name and a password" if answer.status_code == 407 else ""
    return f"{answer.status_code} {reason}".rstrip() + way_out


async def start_tls(stream: ByteStream, tls: ssl.SSLContext, name: str) -> None:
    """Start TLS on an open connection."""
    transport = await asyncio.get_running_loop().start_tls(
        stream.transport, stream, tls, server_hostname=name
    )
    if transport is None:
        raise ConnectionResetError("the connection was closed")
    stream.transport = transport
