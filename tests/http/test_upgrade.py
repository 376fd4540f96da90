"""Connections on which another protocol is spoken after the first answer."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

import pytest

from tests.tls import make_certificate, server_context
from tfmesos.http.client import Response, Session, Upgraded
from tfmesos.http.connection import Disconnected, HttpError

from .test_client import OK, Peer, asking

SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: chat\r\nConnection: Upgrade\r\n\r\n"
HEADERS = {"Upgrade": "chat"}


def upgraded(answer, use, **options):
    async def main():
        async with asking(answer, **options) as (peer, session):
            return await use(await session.upgrade(f"{peer.url}/x", HEADERS), peer)

    return asyncio.run(main())


def test_what_comes_behind_the_switch_belongs_to_the_other_protocol():
    async def use(answer, peer):
        assert isinstance(answer, Upgraded)
        assert answer.headers["upgrade"] == "chat"
        assert "Connection: Upgrade" in peer.heads[0].split("\r\n")
        return answer.rest or await answer.stream.read()

    assert upgraded(SWITCH + b"first words", use) == b"first words"


def test_what_comes_before_the_switch_does_not_count():
    async def use(answer, peer):
        return isinstance(answer, Upgraded)

    assert upgraded(b"HTTP/1.1 102 Processing\r\n\r\n" + SWITCH, use)


def test_a_refusal_is_an_answer():
    async def use(answer, peer):
        assert isinstance(answer, Response)
        async with answer:
            return answer.status, await answer.body(10)

    assert upgraded(OK, use) == (200, b"abc")


def test_a_server_that_goes_instead_has_not_answered():
    with pytest.raises(Disconnected, match="without an answer"):
        upgraded(b"", None, hang_up=True)


def test_a_switch_that_nobody_asked_for_is_no_answer():
    async def main():
        async with asking(SWITCH) as (peer, session):
            await session.ask("GET", peer.url)

    with pytest.raises(HttpError):
        asyncio.run(main())


def test_leaving_the_session_closes_what_was_upgraded():
    async def main():
        async with Peer(SWITCH) as peer:
            async with Session() as session:
                answer = await session.upgrade(peer.url, HEADERS)
            assert isinstance(answer, Upgraded)
            return answer.stream.is_lost

    assert asyncio.run(main())


def test_a_server_may_have_a_certificate_for_another_name(tmp_path: Path):
    certificate = make_certificate(tmp_path / "certificate.pem", "DNS:kubernetes")

    async def status(name):
        context = ssl.create_default_context(cafile=str(certificate))
        async with Peer(OK, tls=server_context(certificate)) as peer:
            async with Session({}, context, server_name=name) as session:
                async with await session.ask("GET", peer.url) as answer:
                    return answer.status

    assert asyncio.run(status("kubernetes")) == 200
    with pytest.raises(ssl.SSLCertVerificationError):
        asyncio.run(status(""))
