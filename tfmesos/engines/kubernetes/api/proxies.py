"""Which proxy leads to the API server: that of the kubeconfig, or that of the environment.

The rules are those of kubectl: ``proxy-url`` wins. Otherwise ``HTTPS_PROXY`` applies to https
servers, unless the host is in ``NO_PROXY`` or is this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from ....http.proxy import Proxy
from .access import DIRECT, Route
from .kubeconfig_files import Entry, wrong


def route(server: str, environ: Mapping[str, str], cluster: Entry | None = None) -> Route:
    """The way to *server*. Raises SpecError if a proxy is named that cannot be used."""
    if cluster is not None and (url := cluster.text("proxy-url")):
        found = _proxy(url, f"proxy-url of {cluster.place}")
        return Route(found, f"through the proxy {found} (proxy-url of the kubeconfig)")
    name, url = _variable(environ, "HTTPS_PROXY")
    if not url:
        return DIRECT
    parts = urlsplit(server)
    host, port = parts.hostname or "", parts.port or 443
    if parts.scheme != "https":
        return Route(None, f"{name} is set, but not used for http://")
    if _is_this_machine(host):
        return Route(None, f"{name} is set, but not used for this machine")
    excluded_by, hosts = _variable(environ, "NO_PROXY")
    if is_excluded(host, port, hosts):
        return Route(None, f"{name} is set, but {excluded_by} excludes {host}")
    found = _proxy(url, name)
    return Route(found, f"through the proxy {found} ({name})")


def _variable(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """The name that is set and its value."""
    for spelling in (name, name.lower()):
        if value := environ.get(spelling, ""):
            return spelling, value
    return name, ""


def _proxy(url: str, place: str) -> Proxy:
    try:
        return Proxy.of(url)
    except ValueError as error:
        raise wrong(f"cannot use {place}: {error}") from None


def is_excluded(host: str, port: int, no_proxy: str) -> bool:
    """Is *host* in a list such as ``10.0.0.0/8,example.com,.corp,[::1]:6443``?"""
    return any(_matches(part.strip().lower(), host.lower(), port) for part in no_proxy.split(","))


def _matches(pattern: str, host: str, port: int) -> bool:
    if pattern in ("", "*"):
        return pattern == "*"
    if "/" in pattern:
        return _is_in_network(host, pattern)
    name, colon, number = pattern.rpartition(":")
    if colon and number.isdigit() and (":" not in name or name.endswith("]")):
        if int(number) != port:
            return False
        pattern = name
    pattern = pattern.strip("[]").removeprefix("*")
    if pattern.startswith("."):
        return host.endswith(pattern)
    return host == pattern or host.endswith(f".{pattern}")


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
