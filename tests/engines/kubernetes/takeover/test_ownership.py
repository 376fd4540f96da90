"""What a killed launcher has left belongs to nobody after ten minutes, and not before."""

from __future__ import annotations

import asyncio
import getpass
import os
import re
import socket
from datetime import datetime, timedelta

import pytest

from tests.builders import workers
from tests.clock import SuspendedClock
from tfmesos.engines.api import Context
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.objects import label_value
from tfmesos.engines.kubernetes.takeover import ownership
from tfmesos.engines.kubernetes.takeover.ownership import Ownership, is_stale
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

NOW = datetime(2026, 11, 17, 2, 0, 0)


def at(ago):
    return (NOW - timedelta(seconds=ago)).strftime("%Y-%m-%dT%H:%M:%SZ")


def owner(*, created=None, renewed=None, survive=None):
    metadata = {} if created is None else {"creationTimestamp": at(created)}
    if renewed is not None:
        metadata["annotations"] = {"tfmesos/renewed": at(renewed)}
    if survive is not None:
        metadata["annotations"]["tfmesos/survive"] = survive
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("found", "stale"),
    [
        (owner(renewed=600), False),
        (owner(renewed=601), True),
        (owner(renewed=120, created=86400), False),  # one renewal was missed
        (owner(created=600), False),
        (owner(created=601), True),
        (owner(created=601, renewed=5), False),
        (owner(renewed=1200, survive="600"), False),  # its tasks wait for another launcher
        (owner(renewed=1201, survive="600"), True),
        (owner(renewed=601, survive="soon"), True),
        (owner(), False),
        ({}, False),
        ({"metadata": {"creationTimestamp": "yesterday"}}, False),
    ],
)
def test_an_owner_is_stale_ten_minutes_after_its_last_renewal(found, stale):
    assert is_stale(found, NOW) is stale


def context():
    config = make_config(workers(1), master="k8s://", image="i")
    return Context(config, "run", None, str, None)


class Api:
    """Knows no object but the one that it is told to make."""

    def __init__(self, *taken):
        self.renewed = asyncio.Queue()
        self.fails = True
        self.taken = taken
        self.asked = []

    async def create(self, kind, body):
        if body["metadata"]["name"] in self.taken:
            raise ApiError(409, "AlreadyExists", "there is one")
        return {"metadata": {"creationTimestamp": at(0), "uid": "u"}}

    async def list(self, kind, selector):
        self.asked.append((kind, selector))
        return [], "1"

    async def patch(self, kind, name, change):
        self.fails = not self.fails
        if not self.fails:
            raise ApiError(503, "Unavailable", "not now")
        ((key, time),) = change["metadata"]["annotations"].items()
        await self.renewed.put((kind, name, key, time))
        return {}


def test_an_owner_is_renewed_by_the_clock_of_the_server_after_faults_and_a_suspend(monkeypatch):
    monkeypatch.setattr(ownership, "RENEW_EVERY", 0.01)

    async def main():
        api, clock = Api(), SuspendedClock()
        ours = Ownership(api, context(), "links", clock)
        keeping = asyncio.create_task(ours.keep(await ours.create()))
        first = await api.renewed.get()
        clock.suspend(3600)  # a laptop that was closed
        await api.renewed.get()  # perhaps of before
        later = await api.renewed.get()
        keeping.cancel()
        return first, later

    first, later = asyncio.run(main())
    assert first[:3] == ("configmaps", "run", "tfmesos/renewed")
    seconds = [(read(renewal[3]) - NOW).total_seconds() for renewal in (first, later)]
    assert 0 <= seconds[0] < 3600 <= seconds[1] < 7200


def test_a_name_that_somebody_has_gets_an_end_of_its_own_and_no_other_fault_does():
    async def made(api):
        return await Ownership(api, context(), "links").create()

    api = Api("run")
    found = asyncio.run(made(api))
    assert re.fullmatch("run-[0-9a-f]{4}", found.name) and found.uid == "u"
    assert api.asked == [("configmaps", "tfmesos/run=run")]  # it may be ours: an answer was lost

    class Full(Api):
        async def create(self, kind, body):
            raise ApiError(403, "Forbidden", "no room")

    with pytest.raises(ApiError, match="no room"):
        asyncio.run(made(Full()))


class Recording(Api):
    """Keeps what it makes; a dead launcher has made the owner already if it *was_made*."""

    def __init__(self, *, was_made=False):
        super().__init__()
        self.was_made = was_made
        self.made = {}

    async def create(self, kind, body):
        self.made = body
        if self.was_made:
            raise ApiError(409, "AlreadyExists", "there is one")
        return await super().create(kind, body)

    async def list(self, kind, selector):
        metadata = {**self.made["metadata"], "resourceVersion": "7"}
        return [{"metadata": {"name": "of another"}}, {**self.made, "metadata": metadata}], "1"

    async def patch(self, kind, name, change):
        self.changed = (name, change["metadata"]["resourceVersion"])
        return {"metadata": {"creationTimestamp": at(0), "uid": "u"}}


def created(api):
    """The owner, and what was kept about it before and after it was made."""
    kept = []
    config = make_config(workers(1), master="k8s://", image="i", survive=90)
    keys = Keys(epoch=3, on_change=lambda values: kept.append((values["owner"], bool(api.made))))
    context = Context(config, "run", None, str, None, keys)
    return asyncio.run(Ownership(api, context, "links").create()), kept


def test_an_owner_says_whose_run_it_is_who_holds_it_and_how_long_tasks_wait():
    api = Recording()
    owner, ((before, was_made), (after, is_made)) = created(api)
    data, notes = api.made["data"], api.made["metadata"]["annotations"]
    assert (data["user"], data["launcher"]) == (getpass.getuser(), socket.gethostname())
    assert data["links"] == "links" and notes["tfmesos/survive"] == "90"
    who = rf"3 \w{{8}} {re.escape(socket.gethostname())} \(pid {os.getpid()}\)"
    assert re.fullmatch(who, notes["tfmesos/holder"])
    assert (before, was_made) == (f"run {data['attempt']}", False) and len(data["attempt"]) == 16
    assert (after, is_made) == (f"{before} u", True) and owner.uid == "u"


def test_an_owner_that_was_made_but_not_answered_for_is_claimed_and_not_made_again():
    api = Recording(was_made=True)
    owner, _ = created(api)
    assert (owner.name, owner.uid, api.changed) == ("run", "u", ("run", "7"))


class Crowded(Api):
    """Other runs have left something there."""

    def __init__(self, *found):
        super().__init__()
        self.found = found
        self.deleted = []

    async def list(self, kind, selector):
        self.asked.append((kind, selector))
        return self.found, "1"

    async def delete(self, kind, name):
        self.deleted.append((kind, name))
        raise ApiError(403, "Forbidden", "not yours")  # which is no reason not to go on


def named(name, found):
    return {"metadata": {**found["metadata"], "name": name}}


def cleared(api):
    async def main():
        ours = Ownership(api, context(), "links")
        await ours._remove_stale(await ours.create())

    asyncio.run(main())
    return api.deleted


def test_what_nobody_renews_is_deleted_but_not_the_owner_of_the_run_itself():
    fresh = named("fresh", owner(created=86400, renewed=20))
    api = Crowded(named("run", owner(renewed=601)), fresh, {}, named("stale", owner(renewed=601)))
    assert cleared(api) == [("configmaps", "stale")]
    user = label_value(getpass.getuser())
    selector = f"app.kubernetes.io/managed-by=tfrun,tfmesos/user={user}"
    assert api.asked == [("configmaps", selector)]


class Timeless(Crowded):
    """Does not say when it made an object."""

    async def create(self, kind, body):
        return {"metadata": {"uid": "u"}}


def test_without_the_clock_of_the_server_nothing_is_deleted():
    assert cleared(Timeless(named("stale", owner(renewed=601)))) == []


def test_without_the_clock_of_the_server_a_run_looks_old_and_not_new():
    async def main():
        api = Timeless()
        api.fails = False  # the first change gets through
        ours = Ownership(api, context(), "links")
        await ours._renew(await ours.create())
        return await api.renewed.get()

    *_, time = asyncio.run(main())
    assert time.startswith("1970-01-01T00:")


def read(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")
