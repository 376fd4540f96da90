"""Which master leads: what ``--master`` may say, and the addresses to try for it."""

from __future__ import annotations

import ipaddress
import logging
import re
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

from ..config.secret import Secret
from ..errors import MasterError, SpecError
from ..record import Record
from .shapes import NONSENSE, read_json

MASTER_PORT = 5050
ZOOKEEPER_PORT = 2181
ZOOKEEPER_TIMEOUT = 5.0  # seconds, for the connection and again for each answer

_ACCEPTED = (
    "HOST, HOST:PORT, http://HOST:PORT, https://HOST:PORT, several of these with commas between, "
    "or zk://HOST:PORT,HOST:PORT/PATH (an IPv6 address in brackets)"
)
_kazoo_log = logging.getLogger(f"{__name__}.kazoo")
_kazoo_log.setLevel(logging.CRITICAL)  # it warns of each attempt; we report the outcome
_NO_SUCH_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
_LEADER = re.compile(r"json\.info_([0-9]{1,20})")
_HOST_NAME = re.compile(r"(?!.*[^.]{64})[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?")


class UnknownHost(MasterError):
    """The resolver says that there is no such name: waiting for it rarely helps."""


class Masters(Protocol):
    """Where to look for the leading master."""

    async def candidates(self) -> list[str]:
        """The base URLs to try now, best first; MasterError if they cannot be found out."""

    def way_to(self, scheme: str) -> str:
        """What the user has to do for http or https."""


class MasterList(Record):
    """Masters named one by one. Any of them redirects to the leader."""

    urls: tuple[str, ...]

    async def candidates(self) -> list[str]:
        return list(self.urls)

    def way_to(self, scheme: str) -> str:
        return f"write {scheme}://"

    def __str__(self) -> str:
        return ",".join(self.urls)


class ZooKeeperMasters(Record):
    """Masters that elect their leader through ZooKeeper; asked anew for each connection.

    They register without saying whether they speak TLS, so the user has to.
    """

    hosts: tuple[str, ...]  # HOST:PORT each
    path: str
    credential: Secret | None = None  # USER:PASSWORD
    scheme: str = "http"
    timeout: float = ZOOKEEPER_TIMEOUT

    async def candidates(self) -> list[str]:
        import asyncio  # with TLS in tow, which a run on this machine does without

        # kazoo blocks, so it gets a thread. Cancelled, we leave the thread to its own
        # time limits: it closes the connection itself.
        return await asyncio.to_thread(self._read)

    def way_to(self, scheme: str) -> str:
        if scheme == "https":
            return "give a CA file or a client certificate"
        return "give neither a CA file nor a client certificate"

    def __str__(self) -> str:
        return f"zk://{','.join(self.hosts)}{self.path}"

    def _read(self) -> list[str]:
        try:
            from kazoo.client import KazooClient
            from kazoo.exceptions import KazooException
            from kazoo.handlers.threading import KazooTimeoutError
        except ImportError:
            problem = f"{self} needs kazoo: pip install 'tfmesos[zk]'"
            raise SpecError(None, "master", problem) from None
        auth = [("digest", self.credential.reveal())] if self.credential else None
        client = KazooClient(
            ",".join(self.hosts), timeout=self.timeout, auth_data=auth, logger=_kazoo_log
        )
        try:
            _check_known(self.hosts)
            client.start(timeout=self.timeout)
            return by_precedence(self._znodes(client), self.scheme)
        except (KazooException, KazooTimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            raise MasterError(f"ZooKeeper at {','.join(self.hosts)}: {why}") from error
        except MasterError as error:
            raise type(error)(f"{self}: {error}") from None
        finally:
            client.stop()
            client.close()

    def _znodes(self, client: Any) -> dict[str, bytes]:
        from kazoo.exceptions import NoNodeError

        try:
            names = client.get_children_async(self.path).get(timeout=self.timeout)
        except NoNodeError:
            return {}  # no master has ever come up here
        znodes = {}
        for name in filter(_LEADER.fullmatch, names):
            with suppress(NoNodeError):  # it went away just now
                content, _ = client.get_async(f"{self.path}/{name}").get(timeout=self.timeout)
                znodes[name] = bytes(content)
        return znodes


def by_precedence(znodes: Mapping[str, bytes], scheme: str = "http") -> list[str]:
    """The URLs of the masters behind *znodes* (name -> content), the leader first.

    The lowest sequence number leads. The others are worth a try, too: they redirect.
    """
    found = {int(match[1]): name for name in znodes if (match := _LEADER.fullmatch(name))}
    if not found:
        raise MasterError("no master is registered there, so none leads")
    leading_first = [name for _, name in sorted(found.items())]
    return [url for name in leading_first for url in _urls_of(name, znodes[name], scheme)]


def parse(master: str, *, tls: bool = False) -> Masters:
    """Read what the user gave as the master; SpecError if it makes no sense.

    *tls* is for masters of which it does not say http or https.
    """
    usual = "https" if tls else "http"
    scheme, separator, rest = master.strip().partition("://")
    try:
        if separator and scheme in ("zk", "zoo"):
            return _parse_zookeeper(rest, usual)
        if "@" in master:
            raise ValueError("credentials do not belong in the address")
        return MasterList(tuple(_parse_url(entry.strip(), usual) for entry in master.split(",")))
    except ValueError as error:
        problem = f"{_without_secrets(master)!r}: {error}; give {_ACCEPTED}"
        raise SpecError(None, "master", problem) from None


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


def _check_known(hosts: Iterable[str]) -> None:
    """UnknownHost if none of HOST:PORT has an address; kazoo would only time out."""
    for host in hosts:
        try:
            socket.getaddrinfo(host.rpartition(":")[0].strip("[]"), None)
            return
        except OSError as error:
            unknown = error
            if not is_unknown(error):
                return
    raise UnknownHost(unknown.strerror) from unknown


def _parse_zookeeper(rest: str, scheme: str) -> ZooKeeperMasters:
    credential, at, rest = rest.rpartition("@")
    hosts, slash, path = rest.partition("/")
    if not path.strip("/"):
        raise ValueError("zk:// needs the path the masters register under, like /mesos")
    if at and ":" not in credential:
        raise ValueError("expected USER:PASSWORD before the @")
    servers = tuple(_host_and_port(host, ZOOKEEPER_PORT) for host in hosts.split(","))
    secret = Secret(credential) if credential else None
    return ZooKeeperMasters(servers, slash + path.strip("/"), secret, scheme)


def _parse_url(entry: str, usual: str) -> str:
    scheme, separator, rest = entry.partition("://")
    if not separator:
        scheme, rest = usual, entry
    if scheme not in ("http", "https"):
        raise ValueError(f"unknown scheme {scheme!r}")
    return f"{scheme}://{_host_and_port(rest.removesuffix('/'), MASTER_PORT)}"


def _host_and_port(text: str, default_port: int) -> str:
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


def _urls_of(name: str, content: bytes, scheme: str) -> list[str]:
    """By its IP address; with TLS first by its name, which is what certificates are made for."""
    try:
        address = read_json(content)["address"]
        told = [address[kind] for kind in ("hostname", "ip") if address.get(kind)]
        hosts = [f"[{host}]" if ":" in host else host for host in told]
        urls = [
            f"{scheme}://" + _host_and_port(f"{host}:{address['port']}", MASTER_PORT)
            for host in dict.fromkeys(hosts)
        ]
        return urls if scheme == "https" and urls else [urls[-1]]
    except (*NONSENSE, IndexError) as error:
        raise MasterError(f"{name} does not tell a master's address") from error


def _without_secrets(master: str) -> str:
    return re.sub(r"(^|://).*@", r"\1***@", master)
