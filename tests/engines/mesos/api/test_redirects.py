"""Redirects lead to the leader, and nowhere else."""

from __future__ import annotations

import pytest

from tests.fake_masters import (
    GoodMaster,
    MasterThatRedirects,
    MasterThatRedirectsCalls,
    MasterThatRedirectsInACircle,
    MasterThatSetsCookies,
)
from tests.ports import free_port
from tfmesos.config.secret import Secret

from .clients import QUICK, Launcher, play


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
@pytest.mark.parametrize("location", ["//{}/master/api/v1/scheduler", "http://{}/api/v1/scheduler"])
def test_a_redirect_leads_to_the_leader_and_the_calls_go_there_too(status, location):
    async def scenario():
        async with GoodMaster() as leader:
            redirect = MasterThatRedirects(location.format(leader.address), status)
            async with redirect as other:
                launcher = Launcher(other.url, credential=("me", Secret("secret")))
                async with launcher.running():
                    assert (await launcher.next("SUBSCRIBED"))["_master"] == leader.url
                    assert await launcher.client.revive()
        path = location.partition("{}")[2]
        assert [it.line for it in leader.requests] == [f"POST {path} HTTP/1.1"] * 2
        assert all(it.header("Authorization") for it in leader.requests)
        assert len(other.requests) == 1

    play(scenario)


def test_masters_that_redirect_in_a_circle_are_given_up_with_the_way_they_sent_us():
    async def scenario():
        async with MasterThatRedirectsInACircle() as master:
            words = await Launcher(master.url, timing=QUICK).failure()
            assert f"redirect in a circle: {master.url} -> {master.url}" in words

    play(scenario)


@pytest.mark.parametrize(
    "location",
    ["", "ftp://a/", "//me:hush@127.0.0.1/", "http://[", "//:x", "//a..b/", f"//{'a' * 70}/", "//"],
)
def test_a_redirect_to_nowhere_is_not_followed(location):
    async def scenario():
        async with MasterThatRedirects(location) as master:
            assert "not a Mesos master" in await Launcher(master.url, timing=QUICK).failure()

    play(scenario)


def test_after_a_redirect_to_a_dead_leader_the_next_master_is_tried():
    async def scenario():
        async with GoodMaster() as leader:
            dead = MasterThatRedirects(f"//127.0.0.1:{free_port()}/master/api/v1/scheduler")
            async with dead as other:
                async with Launcher(other.url, leader.url).running() as launcher:
                    assert (await launcher.next("SUBSCRIBED"))["_master"] == leader.url

    play(scenario)


def test_a_call_is_not_taken_elsewhere_by_a_redirect():
    """It may hold secrets, and only SUBSCRIBE knows whom to follow how far."""

    async def scenario():
        async with GoodMaster() as other:
            location = f"http://{other.address}/api/v1/scheduler"
            for status in ("307 Temporary Redirect", "302 Found"):
                async with MasterThatRedirectsCalls(location, status) as master:
                    async with Launcher(master.url, timing=QUICK).running() as launcher:
                        await launcher.next("SUBSCRIBED")
                        assert not await launcher.client.revive()
                        assert await launcher.client.agents() is None
        assert other.requests == []

    play(scenario)


def test_cookies_are_not_kept():
    async def scenario():
        async with MasterThatSetsCookies() as master:
            url = master.url.replace("127.0.0.1", "localhost")  # addresses get no cookies at all
            async with Launcher(url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert await launcher.client.revive()
                assert await launcher.client.revive()
        assert [request.header("Cookie") for request in master.requests] == [None] * 3

    play(scenario)
