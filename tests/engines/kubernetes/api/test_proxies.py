"""The way to the API server leads through a genuine proxy, or around it."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.bounds import HANG
from tests.proxies import tinyproxy
from tests.runners import Proxy as TlsFront
from tests.tls import server_context
from tfmesos.engines.kubernetes.api.access import Route
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.error import Unreachable
from tfmesos.engines.kubernetes.api.kubeconfig import access
from tfmesos.engines.kubernetes.api.kubeconfig_files import Entry
from tfmesos.engines.kubernetes.api.port_forward import PROTOCOL
from tfmesos.engines.kubernetes.api.proxies import is_excluded, route
from tfmesos.errors import SpecError
from tfmesos.http import client as http_client
from tfmesos.http.proxy import Proxy
from tfmesos.http.server import Answer

from ..servers import TOKEN, accept_websocket, answer, frame, read_frame, scripted, serving

POD = "GET /api/v1/namespaces/tests/pods/x"
PODS = "GET /api/v1/namespaces/tests/pods"
GOOD = answer(200, {"kind": "Pod"})
SERVER = "https://api.example.com:6443"


@pytest.fixture
def proxy(tmp_path):
    with tinyproxy(tmp_path) as found:
        yield found


def through(url):
    return Route(Proxy.of(url), f"through the proxy {Proxy.of(url)} (HTTPS_PROXY)")


def asked(certificate, way, ask, answers):
    async def main():
        async with serving(answers, certificate, route=way) as (server, client):
            return await ask(client), client.server.removeprefix("https://"), server

    return asyncio.run(main())


def get(client):
    return client.get("pods", "x")


def test_questions_go_through_the_proxy_which_cannot_read_them(certificate, proxy):
    found, address, server = asked(certificate, through(proxy.url), get, {POD: GOOD})
    assert found == {"kind": "Pod"} and proxy.tunnels() == [address]
    assert server.headers[0]["authorization"] == f"Bearer {TOKEN}"
    assert "proxy-authorization" not in server.headers[0]


def test_a_watch_goes_through_the_proxy(certificate, proxy):
    events = [{"type": "ADDED", "object": {"metadata": {"name": f"p{n}"}}} for n in range(2)]
    body = b"".join(json.dumps(event).encode() + b"\n" for event in events)

    async def watch(client):
        return [kind async for kind, _ in client.watch("pods", "", "1")]

    found, address, _ = asked(certificate, through(proxy.url), watch, {PODS: Answer(200, body)})
    assert found == ["ADDED", "ADDED"] and proxy.tunnels() == [address]


def test_a_port_forward_goes_through_the_proxy(certificate, proxy):
    async def converse(reader, writer):
        headers = await accept_websocket(reader, writer)
        assert headers["sec-websocket-protocol"] == PROTOCOL
        port = (80).to_bytes(2, "little")
        writer.write(frame(b"\0" + port) + frame(b"\1" + port) + frame(b"\0hello"))
        _, payload = await read_frame(reader)
        writer.write(frame(b"\0" + payload[1:].upper()))
        await reader.read()

    async def main():
        async with scripted(converse, certificate, route=through(proxy.url)) as client:
            connection = await client.dial("x", 80)
            connection.setblocking(False)
            loop = asyncio.get_running_loop()
            try:
                said = await loop.sock_recv(connection, 100)
                await loop.sock_sendall(connection, b"well")
                return said, await loop.sock_recv(connection, 100)
            finally:
                connection.close()

    assert asyncio.run(main()) == (b"hello", b"WELL")
    assert len(proxy.tunnels()) == 1


def test_an_https_proxy_is_spoken_to_in_tls(certificate, proxy, monkeypatch):
    import ssl

    def trusting():
        return ssl.create_default_context(cafile=f"{certificate}.crt")

    monkeypatch.setattr(http_client, "_machine_context", trusting)

    async def main():
        front = TlsFront(("127.0.0.1", proxy.port), server_context(certificate))
        async with front.running():
            way = through(f"https://127.0.0.1:{front.address[1]}")
            async with serving({POD: GOOD}, certificate, route=way) as (_, client):
                return await client.get("pods", "x"), front.recorded

    found, recorded = asyncio.run(main())
    assert found == {"kind": "Pod"} and len(proxy.tunnels()) == 1
    assert b"CONNECT" in recorded and b"pods" not in recorded


def test_an_https_proxy_that_is_not_trusted_is_called_so(certificate, proxy):
    async def main():
        front = TlsFront(("127.0.0.1", proxy.port), server_context(certificate))
        async with front.running():
            way = through(f"https://127.0.0.1:{front.address[1]}")
            async with serving({POD: GOOD}, certificate, route=way) as (_, client):
                await client.get("pods", "x")

    with pytest.raises(Unreachable, match=r"TLS handshake with the proxy .*: self"):
        asyncio.run(main())


def test_a_proxy_that_wants_a_password_gets_it(certificate, tmp_path):
    with tinyproxy(tmp_path, "BasicAuth me pass") as proxy:
        host = f"127.0.0.1:{proxy.port}"
        assert asked(certificate, through(f"http://me:pa%73s@{host}"), get, {POD: GOOD})[0]
        with pytest.raises(Unreachable, match="the proxy answered 40") as caught:
            asked(certificate, through(f"http://me:wrong-one@{host}"), get, {POD: GOOD})
    assert "HTTPS_PROXY" in str(caught.value) and "wrong-one" not in str(caught.value)


def test_a_proxy_that_is_not_there_is_named_with_where_it_was_set(certificate):
    with pytest.raises(Unreachable, match="no connection to the proxy") as caught:
        asked(certificate, through("http://127.0.0.1:9"), get, {POD: GOOD})
    assert "http://127.0.0.1:9 (HTTPS_PROXY)" in str(caught.value)


def test_a_proxy_that_does_not_let_us_through_is_quoted(certificate, tmp_path):
    with tinyproxy(tmp_path, "ConnectPort 1") as proxy:
        with pytest.raises(Unreachable, match="the proxy answered 403"):
            asked(certificate, through(proxy.url), get, {POD: GOOD})


@pytest.mark.parametrize("said", [b"SSH-2.0\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n\r\nmore"])
def test_what_is_no_proxy_is_told_in_one_line(certificate, said):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(said)
        writer.close()

    async def main():
        listener = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        way = through(f"http://127.0.0.1:{port}")
        async with asyncio.timeout(HANG), listener:
            async with serving({POD: GOOD}, certificate, route=way) as (_, client):
                await client.get("pods", "x")

    with pytest.raises(Unreachable, match="the proxy") as caught:
        asyncio.run(main())
    assert "\n" not in str(caught.value)


def test_the_variable_leads_a_kubeconfig_through_the_proxy(certificate, proxy, tmp_path):
    """0.0.0.0 is this machine, too, but not by its name."""

    async def main():
        async with serving({POD: GOOD}, certificate) as (_, ours):
            server = ours.server.replace("127.0.0.1", "0.0.0.0")
            trusted = {
                "certificate-authority": f"{certificate}.crt",
                "tls-server-name": "127.0.0.1",
            }
            config = {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c"}}],
                "clusters": [{"name": "c", "cluster": {"server": server, **trusted}}],
            }
            (tmp_path / "config").write_text(json.dumps(config))
            environ = {"KUBECONFIG": str(tmp_path / "config"), "HTTPS_PROXY": proxy.url}
            async with Client(access("k8s:///tests", environ)) as client:
                return await client.get("pods", "x"), server

    found, server = asyncio.run(main())
    assert found == {"kind": "Pod"} and proxy.tunnels() == [server.removeprefix("https://")]


# Which one


def cluster(**values):
    return Entry({"server": SERVER, **values}, "cluster 'one' in config", "/")


def test_the_proxy_of_the_kubeconfig_wins_over_the_environment():
    environ = {"HTTPS_PROXY": "http://other:1", "NO_PROXY": "*"}
    found = route(SERVER, environ, cluster(**{"proxy-url": "https://me:pw@proxy.corp"}))
    assert str(found.proxy) == "https://proxy.corp:443" and "proxy-url" in found.words
    assert "pw" not in repr(found) and found.proxy.authorization


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
@pytest.mark.parametrize("url", ["http://proxy:3128", "proxy:3128"])
def test_the_variable_names_a_proxy(name, url):
    found = route(SERVER, {name: url}, cluster())
    assert str(found.proxy) == "http://proxy:3128"
    assert name in found.words


@pytest.mark.parametrize(
    ("server", "environ", "words"),
    [
        (SERVER, {}, ""),
        (SERVER, {"HTTP_PROXY": "http://p"}, ""),
        (SERVER, {"HTTPS_PROXY": "http://p", "NO_PROXY": "x,example.com"}, "NO_PROXY excludes"),
        (SERVER, {"HTTPS_PROXY": "http://p", "no_proxy": ".com"}, "no_proxy excludes"),
        ("https://localhost:1", {"HTTPS_PROXY": "http://p"}, "this machine"),
        ("https://127.0.0.9:1", {"HTTPS_PROXY": "http://p"}, "this machine"),
        ("http://h", {"HTTPS_PROXY": "http://p"}, "http://"),
    ],
)
def test_a_proxy_that_does_not_count_is_explained(server, environ, words):
    found = route(server, environ, cluster())
    assert found.proxy is None and words in found.words
    assert bool(found.words) == bool(words)


def test_an_unreachable_server_says_that_a_proxy_was_left_out(certificate):
    way = Route(None, "HTTPS_PROXY is set, but NO_PROXY excludes 127.0.0.1")

    async def main():
        async with serving({}, certificate, route=way, server="https://127.0.0.1:9") as (_, client):
            await client.get("pods", "x")

    with pytest.raises(Unreachable, match="NO_PROXY excludes 127"):
        asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "words"),
    [("socks5://p:1080", "socks5 proxies are not supported"), ("http://", "no host"),
     ("http://p:x", "Port"), ("ftp://p", "ftp proxies")],
)  # fmt: skip
def test_a_proxy_that_cannot_be_used_is_refused_by_name(url, words):
    for environ, entry, place in (
        ({"HTTPS_PROXY": url}, cluster(), "HTTPS_PROXY"),
        ({}, cluster(**{"proxy-url": url}), "proxy-url of cluster 'one'"),
    ):
        with pytest.raises(SpecError, match=words) as caught:
            route(SERVER, environ, entry)
        assert place in str(caught.value) and caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("pattern", "is_so"),
    [
        ("*", True),
        ("", False),
        ("10.0.0.0/8", True),
        ("10.1.0.0/16", False),
        ("10.0.0.5", True),
        ("10.0.0.5:6443", True),
        ("10.0.0.5:443", False),
        (" 10.0.0.9 , 10.0.0.5 ", True),
        ("nonsense/8", False),
    ],
)
def test_addresses_are_excluded_as_numbers_and_networks(pattern, is_so):
    assert is_excluded("10.0.0.5", 6443, pattern) is is_so


@pytest.mark.parametrize(
    ("pattern", "is_so"),
    [
        ("example.com", True),
        ("API.example.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("ample.com", False),
        ("com", True),
        ("api.example.com:6443", True),
        ("example.com:1", False),
    ],
)
def test_names_are_excluded_with_all_below_them(pattern, is_so):
    assert is_excluded("api.example.com", 6443, pattern) is is_so


def test_an_address_of_version_6_is_excluded():
    assert is_excluded("fd00::1", 6443, "[fd00::1]:6443") and is_excluded("fd00::1", 1, "fd00::/8")
