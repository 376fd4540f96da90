"""Who is served: callers of our own names, not sent by a foreign web page, with the credential.

A web page can have a browser call any address of this machine, under a name of the page's own
that it makes point here: so the name must be ours even where no credential is asked for.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
from collections.abc import Callable, Collection
from urllib.parse import urlsplit

from tfmesos.http.server import Answer, Request, text
from tfmesos.shared.stdlib import compare_digest

from . import answers


class Auth:
    def __init__(
        self,
        credential: tuple[str, str] | None,
        names: Collection[str],
        admit: Callable[[asyncio.BaseProtocol], None] = lambda protocol: None,
    ) -> None:
        """*names* are ours beside the address a call comes to; *admit* hears of who is believed."""
        self._credential = credential
        self._names = {name.lower() for name in names}
        self._admit = admit

    def refusal(self, request: Request, realm: str) -> Answer | None:
        """The answer to who may not ask; None for who may."""
        if not self._is_authentic(request):
            return answers.unauthorized(realm)
        self._admit(request.stream)
        return None

    def _is_authentic(self, request: Request) -> bool:
        if self._credential is None:
            return True
        wanted = ":".join(self._credential).encode()
        return compare_digest(_basic(request.headers.get("authorization", "")), wanted)

    def refusal_of_name(self, request: Request) -> Answer | None:
        """The answer to who calls us by a name that is not ours, or from a web page."""
        host, origin = request.headers.get("host", ""), request.headers.get("origin")
        if not self._is_ours(_name_in(host), request):
            return text(
                403, f"{host!r} is no name of this Mesos; --hostname gives it further ones.\n"
            )
        if origin not in (None, f"http://{host}"):
            return text(403, f"Calls of web pages, as {origin!r}, are not taken.\n")
        return None

    def _is_ours(self, name: str | None, request: Request) -> bool:
        if name is None or name.rstrip(".") in self._names:
            return name is not None
        here = request.address
        try:
            return here is not None and ipaddress.ip_address(name) == ipaddress.ip_address(here[0])
        except ValueError:
            return False


def _name_in(host: str) -> str | None:
    """The name or address of a Host header, without its port; None if it is not one."""
    try:
        parts = urlsplit(f"//{host}")
        is_plain = parts.netloc == host and "@" not in host and parts.port != 0
        return parts.hostname if is_plain else None
    except ValueError:
        return None


def _basic(header: str) -> bytes:
    scheme, _, encoded = header.partition(" ")
    try:
        return base64.b64decode(encoded) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""
