"""Refusals that pass: of a server that is away, or that has just started and knows no role yet."""

import asyncio

import pytest

from tests.bounds import HANG
from tests.engines.kubernetes.simulated import SimulatedApi, answer, status
from tests.engines.kubernetes.test_driver import driven
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes import retries
from tfmesos.engines.kubernetes.actions import DeletePods
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.retries import AFTER_RECONNECTION, Retries


def forbidden(verb, kind):
    """As a server words it that finds no role."""
    cannot = f'User "me" cannot {verb} resource "{kind}" in API group "" in the namespace "team"'
    return status(403, "Forbidden", f"{kind} is forbidden: {cannot}")


RBAC = ApiError(403, "Forbidden", 'User "me" cannot create resource "pods" in API group ""')
POLICY = ApiError(403, "Forbidden", 'admission webhook "a" denied the request')
AWAY = ApiError(503, "ServiceUnavailable", "starting")


def test_a_right_that_the_review_granted_may_be_forgotten_for_a_moment():
    ours = Retries()
    assert not ours.may_pass(RBAC, 0.0, 100.0)
    ours.is_reviewed = True
    assert ours.may_pass(RBAC, 9.9, 100.0)
    assert not ours.may_pass(RBAC, 10.0, 100.0)


def test_a_right_may_be_missing_right_after_a_reconnection():
    ours = Retries()
    ours.came_back(100.0)
    assert ours.may_pass(RBAC, 0.0, 99.9 + AFTER_RECONNECTION)
    assert not ours.may_pass(RBAC, 0.0, 100.0 + AFTER_RECONNECTION)


def test_what_a_policy_refuses_is_final():
    ours = Retries()
    ours.is_reviewed = True
    ours.came_back(100.0)
    assert not ours.may_pass(POLICY, 0.0, 100.0)
    assert ours.may_pass(AWAY, 0.0, 100.0)


def test_a_server_that_forgets_our_role_gets_the_pods_and_loses_them_again(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            for method, verb in (("POST", "create"), ("DELETE", "delete")):
                for kind in ("secrets", "pods", "configmaps"):
                    one.api.refusals[method, kind] = [forbidden(verb, kind)]
            one.create("worker-0")
            assert (await one.until(happened.PodChanged)).pod.name == "worker-0"
            one.driver.carry_out(DeletePods(("worker-0",), 5.0))
            await one.until(happened.PodGone)
            await one.driver.leave(HANG)
            assert one.api.objects["configmaps"] == one.api.objects["pods"] == {}
            assert one.said == ["creating 1 pod"]

    asyncio.run(scenario())


def test_a_role_that_does_not_come_back_ends_the_run(certificate, monkeypatch):
    monkeypatch.setattr(retries, "NO_ROLES", 0.6)

    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.api.refusals["POST", "pods"] = [forbidden("create", "pods")] * 1000
            one.create("worker-0")
            error = (await one.until(happened.PodsRefused)).error
            assert error.exit_code == 69 and 'verbs: ["create"]' in str(error)

    asyncio.run(scenario())


class Starting(SimulatedApi):
    """It was away, and its next reviews know no role."""

    unknown = 2

    def __init__(self):
        super().__init__()
        self.refusals["GET", "pods"] = [status(503, "ServiceUnavailable", "starting")]

    def _of_cluster(self, path):
        if not any(kind == "pods" for _, kind, _ in self.requests) or not self.unknown:
            return super()._of_cluster(path)
        if path.endswith("selfsubjectrulesreviews"):
            self.unknown -= 1
        return answer(201, {"status": {"resourceRules": [], "allowed": False}})


def test_a_review_of_a_server_that_was_away_a_moment_ago_is_made_again(certificate):
    async def scenario():
        async with driven(certificate, Starting()) as one:
            event = await one.until((happened.Connected, happened.ServerGaveUp))
            assert isinstance(event, happened.Connected), event
            await one.driver.leave(HANG)
            assert one.api.objects["configmaps"] == {}

    asyncio.run(scenario())


def test_an_owner_that_may_not_be_made_although_the_review_said_so_is_tried_again(certificate):
    async def scenario():
        api = SimulatedApi()
        api.refusals["POST", "configmaps"] = [forbidden("create", "configmaps")] * 2
        async with driven(certificate, api) as one:
            event = await one.until((happened.Connected, happened.ServerGaveUp))
            assert isinstance(event, happened.Connected), event

    asyncio.run(scenario())


class Server:
    """Raises these errors one after the other, then answers."""

    def __init__(self, *errors, slow=0.0):
        self._errors, self._slow = list(errors), slow

    async def ask(self):
        await asyncio.sleep(self._slow)
        if self._errors:
            raise self._errors.pop(0)
        return "answered"


def test_a_server_is_young_from_its_first_answer_on(monkeypatch):
    monkeypatch.setattr(retries, "AFTER_RECONNECTION", 0.2)  # shorter than a pause
    assert asyncio.run(Retries().ask(Server(AWAY, RBAC).ask, HANG)) == "answered"


def test_a_server_that_is_found_at_the_last_moment_has_the_time_to_read_its_roles():
    server = Server(AWAY, RBAC, RBAC, slow=0.1)
    assert asyncio.run(Retries().ask(server.ask, 0.65)) == "answered"


def test_a_server_that_is_not_found_in_time_is_given_up():
    server = Server(*[AWAY] * 1000)
    with pytest.raises(ApiError) as caught:
        asyncio.run(Retries().ask(server.ask, 0.65))
    assert caught.value is AWAY
