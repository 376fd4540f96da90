"""An HTTP client that keeps connections for the next request.

It does not follow redirects, keep cookies or decompress, and ignores the environment. A proxy is
used if the caller names one; it sees no credentials.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self
from urllib.parse import urlsplit

import h11

from ..record import NOTHING, Record
from ..version import __version__
from .byte_stream import ByteStream
from .connection import (
    Connection,
    Disconnected,
    Headers,
    HttpError,
    TooLarge,
    read_headers,
    write_headers,
)
from .proxy import Proxy, ProxyFailed, open_tunnel, start_tls

if TYPE_CHECKING:
    import ssl

KEEP = 15.0  # seconds that a connection waits for the next request; servers keep them longer


class ConnectTimeout(TimeoutError):
    """There was no connection in time."""


class _Place(NamedTuple):
    scheme: str
    host: str
    port: int


class Upgraded(Record):
    """A connection on which another protocol is spoken from now on. Its session still owns it."""

    stream: ByteStream
    headers: Mapping[str, str]  # of the answer
    rest: bytes  # what came behind them


class Session:
    """Connections to servers; leaving the block closes all of them."""

    def __init__(
        self,
        headers: Headers = NOTHING,
        tls: ssl.SSLContext | None = None,
        connect_timeout: float = 5.0,
        server_name: str = "",
        proxy: Proxy | None = None,
    ) -> None:
        """Every request has these *headers*. Without *tls*, the certificates of this machine apply.

        *server_name*, if given, is what certificates must be made for, instead of the host.
        All connections go through *proxy*, if given, whose certificate this machine must trust.
        """
        self._headers = {"User-Agent": f"tfmesos/{__version__}", **headers}
        self._tls = tls
        self._server_name = server_name
        self._connect_timeout = connect_timeout
        self._proxy = proxy
        self._open: set[Connection] = set()  # and some that are lost
        self._look_again = 16  # for lost ones, if there are more than this many
        self._kept: dict[_Place, list[tuple[float, Connection]]] = {}
        self._is_retired = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._open:
            connection.stream.abort()
        for connection in self._open:
            await connection.stream.wait_closed()

    def retire(self) -> None:
        """Close each connection as soon as it has answered; there will be no new requests."""
        self._is_retired = True
        for kept in self._kept.values():
            for _, connection in kept:
                self._drop(connection)
        self._kept.clear()

    @property
    def is_closed(self) -> bool:
        return all(connection.stream.is_lost for connection in self._open)

    async def ask(
        self, method: str, url: str, body: bytes = b"", headers: Headers = NOTHING
    ) -> Response:
        """The answer, to be used in an ``async with``.

        Raises HttpError, ConnectTimeout, or the OSError of the connection.
        """
        request, place = self._request(method, url, body, headers)
        connection = self._waiting(place) or await self._connect(place)
        try:
            connection.send(request, h11.Data(data=body), h11.EndOfMessage())
            head = await _head(connection)
            assert isinstance(head, h11.Response)  # nobody asked for another protocol
            return Response(url, head, connection, self, place)
        except BaseException:
            self._drop(connection)
            raise

    async def upgrade(self, url: str, headers: Headers) -> Upgraded | Response:
        """Ask for another protocol on a new connection; a Response is a refusal."""
        all_headers = {**headers, "Connection": "Upgrade"}
        request, place = self._request("GET", url, b"", all_headers)
        connection = await self._connect(place)
        try:
            connection.send(request, h11.EndOfMessage())
            head = await _head(connection)
            if isinstance(head, h11.Response):
                return Response(url, head, connection, self, place)
            return Upgraded(connection.stream, read_headers(head.headers), connection.unparsed)
        except BaseException:
            self._drop(connection)
            raise

    def _request(
        self, method: str, url: str, body: bytes, headers: Headers
    ) -> tuple[h11.Request, _Place]:
        try:
            parts = urlsplit(url)
            usual = {"http": 80, "https": 443}[parts.scheme]
            place = _Place(parts.scheme, parts.hostname or "", parts.port or usual)
            target = f"{parts.path or '/'}{parts.query and '?'}{parts.query}"
            all_headers = {"Host": parts.netloc, **self._headers, **headers}
            if body:
                all_headers["Content-Length"] = str(len(body))
            pairs = write_headers(all_headers)
            return h11.Request(method=method, target=target, headers=pairs), place
        except (KeyError, ValueError, h11.LocalProtocolError) as error:
            raise HttpError(f"no request can be sent to {url!r}: {error}") from error

    def _waiting(self, place: _Place) -> Connection | None:
        """A kept connection that has been silent since."""
        now = asyncio.get_running_loop().time()
        kept = self._kept.get(place, [])
        while kept:
            since, connection = kept.pop()
            if now - since < KEEP and connection.stream.is_quiet:
                return connection
            self._drop(connection)
        return None

    async def _connect(self, place: _Place) -> Connection:
        try:
            async with asyncio.timeout(self._connect_timeout):
                if self._proxy is None:
                    stream = await self._connected(place)
                else:
                    stream = await self._through(self._proxy, place)
        except TimeoutError as error:
            raise ConnectTimeout from error
        except UnicodeError as error:  # a label of the name is too long, or empty
            raise HttpError(f"{place.host!r} is not a host name: {error}") from error
        connection = Connection(stream, h11.CLIENT)
        self._open.add(connection)
        if len(self._open) > self._look_again:  # not each time: there may be thousands
            self._open = {it for it in self._open if not it.stream.is_lost}
            self._look_again = 2 * len(self._open) + 16
        return connection

    async def _connected(self, place: _Place) -> ByteStream:
        """Connect to the first address of the host that answers; each gets a share of the time."""
        addresses = await _addresses(place)
        problem: OSError = ConnectTimeout()
        for address in addresses:
            try:
                async with asyncio.timeout(self._connect_timeout / len(addresses)):
                    return await self._connected_to(address, place)
            except OSError as error:
                problem = error
        raise problem

    async def _connected_to(self, address: str, place: _Place) -> ByteStream:
        tls = (self._tls or _machine_context()) if place.scheme == "https" else None
        name = (self._server_name or place.host) if tls else None
        _, stream = await asyncio.get_running_loop().create_connection(
            ByteStream, address, place.port, ssl=tls, server_hostname=name
        )
        return stream

    async def _through(self, proxy: Proxy, place: _Place) -> ByteStream:
        """A tunnel to *place*; only the server can read what is sent through it."""
        try:
            stream = await self._connected(_Place("http", proxy.host, proxy.port))
        except OSError as error:
            raise ProxyFailed(f"no connection to the proxy: {_words(error)}") from error
        try:
            if proxy.scheme == "https":
                await _start_tls_with(proxy, stream)
            await open_tunnel(stream, proxy, place.host, place.port)
            if place.scheme == "https":
                tls = self._tls or _machine_context()
                await start_tls(stream, tls, self._server_name or place.host)
        except BaseException:
            stream.abort()
            raise
        return stream

    def done_with(self, place: _Place, connection: Connection) -> None:
        """Keep the connection of an answer that was read to its end."""
        is_sent = connection.stream.transport.get_write_buffer_size() == 0  # else it answered early
        if is_sent and not self._is_retired and connection.renew():
            now = asyncio.get_running_loop().time()
            self._kept.setdefault(place, []).append((now, connection))
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        connection.stream.abort()


class Response:
    """Status and headers of an answer, and its body as it comes."""

    def __init__(
        self,
        url: str,
        head: h11.Response,
        connection: Connection,
        session: Session,
        place: _Place,
    ) -> None:
        self.url = url
        self.status = head.status_code
        self.reason = head.reason.decode("latin-1")
        self.headers = read_headers(head.headers)
        self._connection = connection
        self._session = session
        self._place = place
        self._is_complete = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._is_complete:
            self._session.done_with(self._place, self._connection)
        else:
            self.close()

    def close(self) -> None:
        """Cut the connection; readers learn that it was closed."""
        self._connection.stream.abort()

    async def read(self) -> bytes:
        """The next bytes of the body; b"" at its end."""
        while not self._is_complete:
            event = await self._connection.receive()
            if isinstance(event, h11.Data) and event.data:
                return bytes(event.data)
            self._is_complete = isinstance(event, h11.EndOfMessage)
        return b""

    async def body(self, limit: int) -> bytes:
        """All of it; TooLarge as soon as it is longer than *limit* bytes."""
        body = bytearray()
        while piece := await self.read():
            body += piece
            if len(body) > limit:
                raise TooLarge(limit)
        return bytes(body)


@cache
def _machine_context() -> ssl.SSLContext:
    """Trusts what this machine trusts; reading all those certificates takes long."""
    import ssl

    return ssl.create_default_context()


async def _start_tls_with(proxy: Proxy, stream: ByteStream) -> None:
    try:
        await start_tls(stream, _machine_context(), proxy.host)
    except OSError as error:
        raise ProxyFailed(f"the TLS handshake with the proxy failed: {_words(error)}") from error


def _words(error: OSError) -> str:
    """ssl says more about untrusted certificates than about other errors."""
    is_known = getattr(error, "verify_message", "") or error.strerror
    return str(is_known or error or "no answer in time")


async def _addresses(place: _Place) -> list[str]:
    """The addresses of its host. Resolving a name takes a thread; a numeric address does not."""
    try:
        return [str(ipaddress.ip_address(place.host))]
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
        return [str(address[0]) for *_, address in found]


async def _head(connection: Connection) -> h11.Response | h11.InformationalResponse:
    """The final answer, or the change of protocol."""
    try:
        while True:
            event = await connection.receive()
            if isinstance(event, h11.Response):
                return event
            if isinstance(event, h11.InformationalResponse) and event.status_code == 101:
                return event  # others, such as 100, come before an answer
    except Disconnected:
        if not b"HTTP/1.".startswith(connection.unparsed[:7]):
            raise HttpError("its answer is not HTTP") from None
        raise Disconnected("closed the connection without an answer") from None
