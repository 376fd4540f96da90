"""The next launcher takes the owner of a run, unless somebody else has it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest

from tests.builders import workers
from tests.clock import SuspendedClock
from tests.engines.kubernetes.simulated import SimulatedApi
from tests.engines.kubernetes.test_driver import driven
from tests.sentences import names
from tfmesos.boot_clock import since_boot
from tfmesos.engines.api import Context
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes.actions import CountNodes
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.takeover import ownership
from tfmesos.engines.kubernetes.takeover.ownership import Ownership
from tfmesos.errors import EngineError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

NOW = datetime(2026, 11, 17, 2, 0, 0)


class Api:
    """Has one ConfigMap, and keeps its version as a genuine server does."""

    namespace, server, server_time = "team", "https://k", NOW

    def __init__(self, holder="1 aa login-1 (pid 7)", silent_for=0):
        renewed = (NOW - timedelta(seconds=silent_for)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.annotations = {"tfmesos/renewed": renewed, "tfmesos/holder": holder}
        self.version = 7
        self.is_deleting = False
        self.intruder = lambda: None  # does something between a look and a claim
        self.changed = []  # which version of the owner each change was of

    @property
    def owner(self):
        metadata = {"name": "run", "uid": "u-1", "resourceVersion": str(self.version)}
        if self.is_deleting:
            metadata["deletionTimestamp"] = "2026-11-17T01:00:00Z"
        metadata["annotations"] = dict(self.annotations)
        return {"metadata": metadata, "data": {"attempt": "mark"}}

    async def list(self, kind, selector):
        assert (kind, selector) == ("configmaps", "tfmesos/run=run")
        found = self.owner
        self.intruder()
        return [found], "9"

    async def patch(self, kind, name, change):
        wanted = change["metadata"].get("resourceVersion")
        if wanted not in (None, str(self.version)):
            raise ApiError(409, "Conflict", "the object has been modified")
        self.annotations |= change["metadata"]["annotations"]
        self.changed.append(wanted)
        self.version += 1
        return self.owner


def ours(
    api,
    *,
    owner="run mark u-1",
    epoch=2,
    gone="",
    resumes=False,
    say=None,
    give_away=None,
    clock=since_boot,
):
    values = {"owner": owner, "gone": gone}
    config = make_config(workers(1), resumes=resumes, master="k8s://", image="i")
    about = (config, "run", say or (lambda *_: None), str, None, Keys(values, epoch))
    return Ownership(api, Context(*about, give_away or (lambda why: None)), "links", clock)


def refused(api, **values):
    with pytest.raises(EngineError) as caught:
        asyncio.run(ours(api, **values).find_again())
    return str(caught.value)


def test_a_holder_that_was_silent_for_long_is_followed():
    api = Api(silent_for=61)
    found = ours(api)
    asyncio.run(found.find_again())
    assert (found.owner.name, found.owner.uid) == ("run", "u-1")
    epoch, token, name = api.annotations["tfmesos/holder"].split(" ", 2)
    assert epoch == "2" and token != "aa" and "(pid " in name
    assert api.annotations["tfmesos/renewed"].startswith("2026-11-17T02:")


def test_an_owner_whose_name_others_had_is_found_by_the_name_that_it_got():
    found = ours(Api(), owner="run-ab12 mark u-1").owner
    assert (found.name, found.uid) == ("run-ab12", "u-1")


def test_an_owner_of_which_nobody_knows_whether_it_was_made_is_left_to_be_made():
    api = Api()
    found = ours(api, owner="run mark")
    asyncio.run(found.find_again())
    assert found.owner is None and api.version == 7


def test_a_holder_that_may_live_is_not_followed_and_is_named():
    api = Api(silent_for=30)
    assert names(refused(api), "login-1 (pid 7) ", "alive just now")
    assert (api.version, api.annotations["tfmesos/holder"]) == (7, "1 aa login-1 (pid 7)")


def test_a_holder_that_has_ended_for_sure_is_followed_at_once():
    api = Api(silent_for=1)
    asyncio.run(ours(api, gone="1").find_again())
    assert api.annotations["tfmesos/holder"].startswith("2 ")


def test_whoever_resumes_a_run_waits_until_its_holder_is_silent_and_says_so_once(monkeypatch):
    monkeypatch.setattr(ownership, "LOOK_EVERY", 0.0)
    api, said, looks = Api(silent_for=30), [], []

    def wait():
        looks.append(1)
        api.server_time = NOW + timedelta(seconds=6 * len(looks))

    api.intruder = wait
    asyncio.run(ours(api, resumes=True, say=lambda *words: said.append(words)).find_again())
    assert len(looks) == 5 and api.annotations["tfmesos/holder"].startswith("2 ")
    ((text, level),) = said
    assert names(text, "waiting: login-1 (pid 7) ", "alive just now") and level == "notice"


def test_of_two_that_take_a_run_at_once_one_is_refused():
    api = Api(silent_for=61)

    def intrude():
        api.version += 1

    api.intruder = intrude
    assert refused(api) == "another launcher is taking it over"
    assert api.annotations["tfmesos/holder"] == "1 aa login-1 (pid 7)"


def test_an_old_copy_of_a_run_directory_is_refused_however_silent_the_later_launcher_is():
    api = Api("2 cc login-3 (pid 9)", silent_for=3600)
    assert names(refused(api), "later launcher, login-3 (pid 9)", "run directory", "old copy")


def test_a_claim_whose_answer_was_lost_is_made_again():
    api = Api(silent_for=61)

    async def main():
        found = ours(api)
        await found.find_again()
        await found.find_again()

    asyncio.run(main())
    assert api.version == 9


def test_a_run_whose_owner_is_gone_cannot_be_found_again():
    api = Api(silent_for=61)
    api.is_deleting = True
    said = "the run is not in namespace team at https://k: it is elsewhere or was deleted"
    assert refused(api) == said


def test_a_run_whose_owner_its_launcher_has_deleted_has_ended_but_for_a_last_word():
    api = Api()
    ending = ours(api)
    ending.leave(ending.owner)
    api.is_deleting = True
    asyncio.run(ending.find_again())
    assert api.version == 7


def test_that_the_owner_is_about_to_be_deleted_is_written_down_before(certificate):
    api, seen = SimulatedApi(), []

    def written(values):
        if "leaving" in values:
            seen.append((values["leaving"], list(api.objects["configmaps"])))

    async def scenario():
        async with driven(certificate, api, Keys(on_change=written)) as one:
            await one.until(happened.Connected)
            await one.driver.leave(5)

    asyncio.run(scenario())
    assert seen == [("uid-of-tfmesos-abcd", ["tfmesos-abcd"])]
    assert api.objects["configmaps"] == {}


def test_what_is_overdue_after_a_take_over_is_done_as_soon_as_the_server_is_found(certificate):
    async def scenario():
        async with driven(certificate) as one:
            one.driver.carry_out(CountNodes())  # nothing of the driver has run by now
            return await one.until(happened.NodesCounted)

    assert asyncio.run(scenario()) == happened.NodesCounted(None)  # nobody may list nodes there


def test_a_holder_that_slept_for_long_leaves_the_run_to_whoever_has_it_now():
    given, clock = [], SuspendedClock()

    async def main():
        api = Api("0 zz x", silent_for=61)
        first = ours(api, epoch=1, give_away=given.append, clock=clock)
        await first.find_again()
        assert await first.is_held(first.owner)
        api.annotations["tfmesos/holder"] = "2 cc login-3 (pid 9)"
        api.version += 1
        assert await first.is_held(first.owner)  # within the minute nobody can have taken it
        clock.suspend(61)
        assert not await first.is_held(first.owner)
        await first._renew(first.owner)
        return api

    api = asyncio.run(main())
    first, second = given
    assert first == second and names(first, "another launcher", "login-3 (pid 9)")
    assert api.annotations["tfmesos/holder"] == "2 cc login-3 (pid 9)"


def test_a_renewal_is_repeated_if_somebody_else_has_written_something_into_the_owner():
    async def main():
        api = Api("0 zz x", silent_for=61)
        first = ours(api, epoch=1)
        await first.find_again()
        api.version += 1  # kubectl annotate
        del api.annotations["tfmesos/renewed"]
        await first._renew(first.owner)
        return api

    api = asyncio.run(main())
    assert api.changed == ["7", "9"]  # only of the one that it has looked at
    assert api.annotations["tfmesos/renewed"].startswith("2026-11-17T02:")
