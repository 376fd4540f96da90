"""Which master leads: what ``--master`` may contain, and which addresses to try."""

from __future__ import annotations

import re
from typing import Protocol

from ....config.secret import Secret
from ....errors import SpecError
from ....record import Record
from ....text import suggestion
from .addresses import MASTER_PORT, host_and_port
from .zookeeper import ZooKeeperMasters

ZOOKEEPER_PORT = 2181

_OTHER_ENGINES = ("k8s", "slurm")
_SCHEMES = ("http", "https", "zk", *_OTHER_ENGINES)
_ACCEPTED = (
    "local, k8s://CONTEXT/NAMESPACE, slurm://PARTITION, or a Mesos master: HOST, HOST:PORT, "
    "http://HOST:PORT, https://HOST:PORT, a comma-separated list of these, or "
    "zk://HOST:PORT,HOST:PORT/PATH (an IPv6 address in brackets)"
)


class Masters(Protocol):
    """Where to look for the leading master."""

    async def candidates(self) -> list[str]:
        """The base URLs to try now, best first; MasterError if they cannot be determined."""

    def way_to(self, scheme: str) -> str:
        """What the user has to write for http or https."""


class MasterList(Record):
    """Masters named one by one. Any of them redirects to the leader."""

    urls: tuple[str, ...]

    async def candidates(self) -> list[str]:
        return list(self.urls)

    def way_to(self, scheme: str) -> str:
        return f"write {scheme}://"

    def __str__(self) -> str:
        return ",".join(self.urls)


def parse(master: str, *, tls: bool = False) -> Masters:
    """Read what the user gave as the master; SpecError if it is malformed.

    *tls* applies to masters without http or https.
    """
    usual = "https" if tls else "http"
    scheme, separator, rest = master.strip().partition("://")
    if not separator and scheme in _OTHER_ENGINES:
        way_out = f"write {scheme}://, or {scheme}:{MASTER_PORT} for a Mesos master of that name"
        raise SpecError(None, "master", f"{scheme!r} is not complete: {way_out}")
    try:
        if separator and scheme in ("zk", "zoo"):
            return _parse_zookeeper(rest, usual)
        if "@" in master:
            raise ValueError("credentials do not belong in the address")
        return MasterList(tuple(_parse_url(entry.strip(), usual) for entry in master.split(",")))
    except ValueError as error:
        problem = f"{_without_secrets(master)!r}: {error}; give {_ACCEPTED}"
        raise SpecError(None, "master", problem) from None


def _parse_zookeeper(rest: str, scheme: str) -> ZooKeeperMasters:
    credential, at, rest = rest.rpartition("@")
    hosts, slash, path = rest.partition("/")
    if not path.strip("/"):
        raise ValueError("zk:// needs the path under which the masters register, like /mesos")
    if at and ":" not in credential:
        raise ValueError("expected USER:PASSWORD before the @")
    servers = tuple(host_and_port(host, ZOOKEEPER_PORT) for host in hosts.split(","))
    secret = Secret(credential) if credential else None
    return ZooKeeperMasters(servers, slash + path.strip("/"), secret, scheme)


def _parse_url(entry: str, usual: str) -> str:
    scheme, separator, rest = entry.partition("://")
    if not separator:
        scheme, rest = usual, entry
    if scheme not in ("http", "https"):
        meant = suggestion(scheme, _SCHEMES, "{}://".format)
        raise ValueError(f"unknown scheme {scheme!r}{meant}")
    return f"{scheme}://{host_and_port(rest.removesuffix('/'), MASTER_PORT)}"


def _without_secrets(master: str) -> str:
    return re.sub(r"(^|://).*@", r"\1***@", master)
