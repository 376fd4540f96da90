"""The leading master, found through ZooKeeper."""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ....config.secret import Secret
from ....errors import MasterError, SpecError
from ....record import Record
from ...own_address import UnknownHost, is_unknown
from .addresses import MASTER_PORT, host_and_port
from .json_values import NONSENSE, read_json

ZOOKEEPER_TIMEOUT = 5.0  # seconds, for the connection and again for each answer

_kazoo_log = logging.getLogger(f"{__name__}.kazoo")
_kazoo_log.setLevel(logging.CRITICAL)  # it warns of each attempt; we report the outcome
_LEADER = re.compile(r"json\.info_([0-9]{1,20})")


class ZooKeeperMasters(Record):
    """Masters that elect their leader through ZooKeeper; asked again for each connection.

    They register without saying whether they speak TLS, so the user has to.
    """

    hosts: tuple[str, ...]  # HOST:PORT each
    path: str
    credential: Secret | None = None  # USER:PASSWORD
    scheme: str = "http"
    timeout: float = ZOOKEEPER_TIMEOUT

    async def candidates(self) -> list[str]:
        import asyncio  # which imports ssl; a run on this machine does not need it

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
            problem = f"{self} needs kazoo: pip install kazoo"
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

    The lowest sequence number leads. The others are worth trying, too: they redirect.
    """
    found = {int(match[1]): name for name in znodes if (match := _LEADER.fullmatch(name))}
    if not found:
        raise MasterError("no master is registered there, so none leads")
    leading_first = [name for _, name in sorted(found.items())]
    return [url for name in leading_first for url in _urls_of(name, znodes[name], scheme)]


def _urls_of(name: str, content: bytes, scheme: str) -> list[str]:
    """By IP address; with TLS by name first, because certificates are issued for names."""
    try:
        address = read_json(content)["address"]
        told = [address[kind] for kind in ("hostname", "ip") if address.get(kind)]
        hosts = [f"[{host}]" if ":" in host else host for host in told]
        urls = [
            f"{scheme}://" + host_and_port(f"{host}:{address['port']}", MASTER_PORT)
            for host in dict.fromkeys(hosts)
        ]
        return urls if scheme == "https" and urls else [urls[-1]]
    except (*NONSENSE, IndexError) as error:
        raise MasterError(f"{name} does not contain the address of a master") from error


def _check_known(hosts: Iterable[str]) -> None:
    """UnknownHost if no HOST:PORT can be resolved; kazoo would only time out."""
    for host in hosts:
        try:
            socket.getaddrinfo(host.rpartition(":")[0].strip("[]"), None)
            return
        except OSError as error:
            unknown = error
            if not is_unknown(error):
                return
    raise UnknownHost(unknown.strerror) from unknown
