"""Whether a deleted pod had to make room, as the events of its namespace tell."""

from __future__ import annotations

import asyncio

import pytest

from tests.engines.kubernetes.servers import answer, serving
from tfmesos.engines.kubernetes import preemptions
from tfmesos.engines.kubernetes.events import PodPreempted
from tfmesos.engines.kubernetes.preemptions import Preemptions

AWAY = answer(503, {"kind": "Status", "code": 503, "message": "starting"})
FORBIDDEN = answer(403, {"kind": "Status", "code": 403, "message": "events is forbidden"})


@pytest.fixture(autouse=True)
def two_looks(monkeypatch):
    monkeypatch.setattr(preemptions, "PAUSES", (0.0, 0.01))


def events(*pods):
    about = [{"involvedObject": {"name": f"run-{pod}"}, "message": f"{pod}!"} for pod in pods]
    return answer(200, {"metadata": {}, "items": about})


def told(certificate, pods, *answers, late=None):
    """What is told of these pods, and how often the server was asked.

    With *late*, the last question about these is the moment in which one more is asked about.
    """
    found = []

    async def main():
        def now_late():
            asking.ask(f"run-{late}", late, group)
            return events()

        said = [now_late if it is None else it for it in answers]
        where = {"GET /api/v1/namespaces/tests/events": said}
        async with serving(where, certificate) as (server, client):
            asking = Preemptions(client, found.append)
            async with asyncio.TaskGroup() as group:
                for pod in pods:
                    asking.ask(f"run-{pod}", pod, group)
            return len(server.requests)

    asked = asyncio.run(main())
    return found, asked


def test_an_event_tells_of_a_pod_once_and_of_no_other(certificate):
    found, asked = told(certificate, ["a", "a"], events("b", "a"))
    assert (found, asked) == ([PodPreempted("a", "a!")], 1)


def test_an_event_may_come_late(certificate):
    assert told(certificate, ["a"], events(), events("a")) == ([PodPreempted("a", "a!")], 2)
    assert told(certificate, ["a"], events(), events(), events("a")) == ([], 2)


def test_a_pod_that_is_asked_about_in_the_last_look_for_another_has_looks_of_its_own(certificate):
    answers = (events(), None, events(), events("late"))
    assert told(certificate, ["a"], *answers, late="late")[0] == [PodPreempted("late", "late!")]


def test_a_server_that_is_away_costs_one_look(certificate):
    assert told(certificate, ["a"], AWAY, events("a"))[0] == [PodPreempted("a", "a!")]


def test_who_may_not_list_events_does_not_try_again(certificate):
    assert told(certificate, ["a"], FORBIDDEN) == ([], 1)


def test_many_pods_share_their_looks(certificate):
    pods = [f"worker-{number}" for number in range(100)]
    found, asked = told(certificate, pods, events(), events(*pods))
    assert sorted(it.name for it in found) == sorted(pods)
    assert asked <= 5
