"""TLS towards a master."""

from __future__ import annotations

import json
import ssl

import pytest

from tests.bounds import HANG
from tests.fake_masters import (
    GoodMaster,
    MasterThatRedirects,
    ServerThatResets,
)
from tests.sentences import names
from tests.tls import CIPHERS_OF_MESOS, blunt_server, server_context
from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api.auth import CERTIFICATE_HINT, CIPHERS_HINT
from tfmesos.engines.mesos.api.zookeeper import ZooKeeperMasters, by_precedence

from .clients import QUICK, Launcher, play


def test_a_master_with_a_trusted_certificate_is_subscribed_to(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=server_context(certificate)) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()

    play(scenario)


def test_a_master_with_an_unknown_certificate_is_refused_at_once(certificate):
    async def scenario():
        async with GoodMaster(tls=server_context(certificate)) as master:
            failure = await Launcher(master.url).failure()
            assert "self-signed certificate" in failure
            assert master.requests == []

    play(scenario)


def test_a_redirect_from_https_to_http_is_not_followed(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster() as plain:
            location = f"http://{plain.address}/master/api/v1/scheduler"
            secure = MasterThatRedirects(location, tls=server_context(certificate))
            async with secure as other:
                launcher = Launcher(
                    other.url, credential=("me", Secret("hush")), ssl_context=trusting
                )
                assert "without TLS: not followed" in await launcher.failure()
            assert plain.requests == []

    play(scenario)


def test_https_to_a_master_without_tls_fails_with_the_remedy():
    async def scenario():
        async with GoodMaster() as master:
            failure = await Launcher(f"https://{master.address}").failure()
            assert "write http://" in failure

    play(scenario)


TLS_1_2, TLS_1_3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


async def failure_at(address: str, certificate, client_certificate=None) -> str:
    """What the user is told when there is no TLS connection to that address."""
    trusting = ssl.create_default_context(cafile=str(certificate))
    if client_certificate:
        trusting.load_cert_chain(client_certificate)
    launcher = Launcher(f"https://{address}", ssl_context=trusting)
    return await launcher.failure()


@pytest.mark.parametrize("newest", [TLS_1_2, TLS_1_3])
@pytest.mark.parametrize("is_ours", [False, True])
@pytest.mark.parametrize("says_why", [False, True])
def test_a_master_that_wants_another_client_certificate_is_not_blamed_for_its_ciphers(
    certificate, other_certificate, newest, is_ours, says_why
):
    context = server_context(certificate, trusted_clients=certificate, newest=newest)
    ours = other_certificate if is_ours else None

    async def scenario():
        if says_why:
            with blunt_server(context) as address:
                failure = await failure_at(address, certificate, ours)
        else:
            async with GoodMaster(tls=context) as master:
                failure = await failure_at(master.address, certificate, ours)
        assert failure.endswith(f"({CERTIFICATE_HINT})")
        assert "cipher" not in failure

    play(scenario)


def test_with_the_right_client_certificate_a_master_is_subscribed_to(certificate):
    async def scenario():
        context = server_context(certificate, trusted_clients=certificate)
        trusting = ssl.create_default_context(cafile=str(certificate))
        trusting.load_cert_chain(certificate)
        async with GoodMaster(tls=context) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")

    play(scenario)


@pytest.mark.parametrize("says_why", [False, True])
@pytest.mark.parametrize("wants_certificate", [False, True])
def test_the_ciphers_mesos_allows_by_default_are_named_with_the_way_out(
    certificate, says_why, wants_certificate
):
    wanted = certificate if wants_certificate else None
    context = server_context(
        certificate, trusted_clients=wanted, ciphers=CIPHERS_OF_MESOS, newest=TLS_1_2
    )

    async def scenario():
        if says_why:
            with blunt_server(context) as address:
                failure = await failure_at(address, certificate)
        else:
            async with GoodMaster(tls=context) as master:
                failure = await failure_at(master.address, certificate)
        assert failure.endswith(f"({CIPHERS_HINT})")
        assert "LIBPROCESS_SSL_CIPHERS=ECDHE-RSA-AES128-GCM-SHA256" in failure

    play(scenario)


def test_with_the_ciphers_of_the_way_out_there_is_a_subscription(certificate):
    async def scenario():
        ciphers = CIPHERS_HINT.rpartition("LIBPROCESS_SSL_CIPHERS=")[2]
        context = server_context(certificate, ciphers=f"{ciphers}:@SECLEVEL=0", newest=TLS_1_2)
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=context) as master:
            async with Launcher(master.url, ssl_context=trusting).running() as launcher:
                await launcher.next("SUBSCRIBED")

    play(scenario)


def test_a_server_that_hangs_up_on_tls_is_blamed_for_nothing(certificate):
    async def scenario():
        async with ServerThatResets() as server:
            trusting = ssl.create_default_context(cafile=str(certificate))
            url = f"https://{server.address}"
            failure = await Launcher(url, ssl_context=trusting, timing=QUICK).failure()
            assert url in failure
            assert "cipher" not in failure and "certificate" not in failure

    play(scenario)


class ElectionOf:
    """A ZooKeeper that knows one master; only what it would read is made up."""

    def __init__(self, address: str, scheme: str) -> None:
        host, _, port = address.rpartition(":")
        self._told = {"address": {"hostname": "no.such", "ip": host, "port": int(port)}}
        self._masters = ZooKeeperMasters(("zookeeper:2181",), "/mesos", scheme=scheme)
        self.way_to = self._masters.way_to

    async def candidates(self) -> list[str]:
        znodes = {"json.info_0000000000": json.dumps(self._told).encode()}
        return by_precedence(znodes, self._masters.scheme)


@pytest.mark.parametrize("masters", ["list", "election"])
@pytest.mark.parametrize("kind", ["resets", "asyncio", "blunt"])
def test_a_tls_port_spoken_to_without_tls_is_recognised(certificate, masters, kind):
    async def scenario():
        context = server_context(certificate)
        if kind == "blunt":
            with blunt_server(context) as address:
                failure = await plain_failure(address)
        else:
            fake = ServerThatResets() if kind == "resets" else GoodMaster(tls=context)
            async with fake as server:
                failure = await plain_failure(server.address)
        assert names(failure, "(if it speaks TLS, ", WAY_TO_TLS[masters])

    async def plain_failure(address):
        launcher = Launcher(f"http://{address}", timing=QUICK.replace(answer=HANG))
        if masters == "election":
            launcher.client._masters = ElectionOf(address, "http")
        return await launcher.failure()

    play(scenario)


WAY_TO_TLS = {"list": "write https://", "election": "give a CA file"}


def test_an_election_between_masters_with_tls_leads_to_one_by_name_or_address(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster(tls=server_context(certificate)) as master:
            launcher = Launcher(ssl_context=trusting)
            launcher.client._masters = ElectionOf(master.address, "https")
            async with launcher.running():
                assert (await launcher.next("SUBSCRIBED"))["_master"] == master.url
                assert launcher.client.master == master.url

    play(scenario)


def test_an_election_between_masters_without_tls_is_told_from_one_with(certificate):
    async def scenario():
        trusting = ssl.create_default_context(cafile=str(certificate))
        async with GoodMaster() as master:
            launcher = Launcher(ssl_context=trusting, timing=QUICK)
            launcher.client._masters = ElectionOf(master.address, "https")
            failure = await launcher.failure()
            assert names(failure, "does not speak TLS", "CA file", "client certificate")

    play(scenario)
