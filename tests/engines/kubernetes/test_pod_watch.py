"""What becomes of the pods of a run, told by servers that break off."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest

from tests.engines.kubernetes.servers import answer, recorded_error, serving
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes import pod_watch
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.objects import Owner
from tfmesos.engines.kubernetes.pod_watch import PodWatch
from tfmesos.http.server import Answer

PODS = "GET /api/v1/namespaces/tests/pods"
ITEM = {"metadata": {"name": "run-worker-0", "resourceVersion": "7"}, "status": {}}
LIST = answer(200, {"metadata": {"resourceVersion": "8"}, "items": [ITEM]})
FORBIDDEN = answer(403, recorded_error("403 nodes")[1])


def one_event():
    """A watch that tells of one pod and then breaks off."""

    async def body():
        yield json.dumps({"type": "ADDED", "object": ITEM}).encode() + b"\n"
        raise ConnectionResetError

    return Answer(200, body())


def silent():
    async def body():
        yield b"\n"
        await asyncio.Event().wait()

    return Answer(200, body())


def watched(certificate, answers, seen=lambda pod, is_gone: None, asked=None, version="1"):
    """What is told until the pods were listed again; *asked* gets the queries of the server."""
    told = []

    async def main():
        listed = asyncio.Event()

        def emit(event):
            told.append(event)
            if isinstance(event, happened.PodsListed):
                listed.set()

        async with serving({PODS: answers}, certificate) as (server, client):
            watch = PodWatch(client, Owner("run", "u"), emit, seen)
            task = asyncio.ensure_future(watch.run(version))
            waiting = asyncio.ensure_future(listed.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            for one in (task, waiting):
                one.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            try:
                await task
            except asyncio.CancelledError:
                pass
            if asked is not None:
                asked.extend(query for _, _, query, _ in server.requests)

    asyncio.run(main())
    return told


def test_a_server_that_has_restarted_may_not_know_yet_what_we_may_do(certificate):
    told = watched(certificate, [one_event, FORBIDDEN, FORBIDDEN, LIST, silent])
    assert isinstance(told[-2], happened.Reconnected)
    assert [pod.name for pod in told[-1].pods] == ["worker-0"]


def deletion():
    """A watch that tells of the end of a pod and then breaks off."""

    async def body():
        yield json.dumps({"type": "DELETED", "object": ITEM}).encode() + b"\n"
        raise ConnectionResetError

    return Answer(200, body())


def test_only_pods_of_the_run_are_asked_for_and_each_one_is_seen(certificate):
    seen, asked = [], []
    told = watched(
        certificate,
        [deletion, LIST, silent],
        lambda pod, is_gone: seen.append((pod.name, is_gone)),
        asked,
    )
    assert seen == [("worker-0", True), ("worker-0", False)]
    assert happened.PodGone("worker-0") in told
    assert {query["labelSelector"] for query in asked[:2]} == {"tfmesos/run=run"}
    (cut,) = [event for event in told if isinstance(event, happened.Disconnected)]
    assert cut.reason


def test_a_right_that_does_not_come_back_ends_the_watch(certificate, monkeypatch):
    monkeypatch.setattr(pod_watch, "NO_ROLES", 0.001)
    monkeypatch.setattr(pod_watch, "FIRST_PAUSE", 0.01)
    with pytest.raises(ApiError, match="not allowed to"):
        watched(certificate, [one_event, FORBIDDEN, FORBIDDEN])


@pytest.mark.parametrize(("waited", "passes"), [(0.0, True), (29.9, True), (30.1, False)])
def test_a_right_that_is_gone_may_come_back_for_half_a_minute(waited, passes):
    watch = PodWatch(None, Owner("run", "u"), None, None)
    watch._has_watched = True
    assert watch._may_pass(ApiError(403, "Forbidden", "no"), waited) is passes


def test_without_the_right_to_watch_there_is_no_second_attempt(certificate):
    with pytest.raises(ApiError, match="not allowed to"):
        watched(certificate, [FORBIDDEN])


def test_watches_that_end_at_once_follow_each_other_with_growing_pauses(certificate, monkeypatch):
    monkeypatch.setattr(pod_watch, "FIRST_PAUSE", 0.05)
    times = []

    def ended():
        times.append(time.monotonic())
        return Answer(200, b"")

    watched(certificate, [*[ended] * 4, one_event, LIST, silent])
    gaps = [later - earlier for earlier, later in pairwise(times)]
    wanted = [pod_watch.FIRST_PAUSE * 2**number for number in range(3)]
    assert all(gap >= least for gap, least in zip(gaps, wanted, strict=True)), gaps


def events(*found):
    """A watch that tells of these and ends in order."""
    lines = [json.dumps({"type": kind, "object": it}).encode() + b"\n" for kind, it in found]
    return lambda: Answer(200, b"".join(lines))


def pod(name, version):
    return {"metadata": {"name": f"run-{name}", "resourceVersion": version}, "status": {}}


def test_each_watch_goes_on_where_the_one_before_ended(certificate, monkeypatch):
    monkeypatch.setattr(pod_watch, "FIRST_PAUSE", 0.001)
    asked = []
    bookmark = {"metadata": {"resourceVersion": "5"}}
    told = watched(
        certificate,
        [
            events(("ADDED", pod("worker-0", "3")), ("BOOKMARK", bookmark)),
            events(("MODIFIED", pod("worker-1", "6"))),
            one_event,
            LIST,
            silent,
        ],
        asked=asked,
    )
    assert [query.get("resourceVersion") for query in asked[:3]] == ["1", "5", "6"]
    changed = [event.pod.name for event in told if isinstance(event, happened.PodChanged)]
    assert changed == ["worker-0", "worker-1", "worker-0"]
    assert not [event for event in told if isinstance(event, happened.PodGone)]


def test_a_version_that_has_expired_is_no_break(certificate):
    expired = {"code": 410, "reason": "Expired", "message": "too old resource version"}
    told = watched(certificate, [events(("ERROR", {"kind": "Status", **expired})), LIST, silent])
    assert [type(event) for event in told] == [happened.Reconnected, happened.PodsListed]


def test_a_server_that_is_away_is_asked_for_its_pods_until_it_is_back(certificate, monkeypatch):
    monkeypatch.setattr(pod_watch, "FIRST_PAUSE", 0.001)
    busy = answer(503, {"kind": "Status", "message": "not now", "reason": "Unavailable"})
    told = watched(certificate, [busy, busy, busy, LIST, silent])
    assert [type(event) for event in told] == [
        *[happened.Disconnected] * 3,
        happened.Reconnected,
        happened.PodsListed,
    ]
    assert [event.reason for event in told[:3]] == ["not now"] * 3


def test_who_takes_a_run_over_begins_with_all_its_pods(certificate):
    asked = []
    told = watched(certificate, [LIST, silent], asked=asked, version=None)
    assert [type(event) for event in told] == [happened.Reconnected, happened.PodsListed]
    assert "watch" not in asked[0]


@pytest.mark.parametrize(("lasted", "pauses"), [(0.5, [1, 2, 4, 5, 5]), (1.5, [])])
def test_pauses_grow_to_a_limit_and_there_are_none_after_a_long_watch(monkeypatch, lasted, pauses):
    """In the time of a clock that only the watches move."""
    now, slept, left = [0.0], [], [6]

    async def watch_for_a_while(version):
        left[0] -= 1
        if not left[0]:
            raise ZeroDivisionError
        now[0] += lasted
        return version

    async def sleep(seconds):
        slept.append(seconds)

    async def main():
        watch = PodWatch(None, Owner("run", "u"), None, None)
        monkeypatch.setattr(watch, "_next_version", watch_for_a_while)
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: now[0])
        await watch.run("1")

    monkeypatch.setattr(pod_watch, "FIRST_PAUSE", 1.0)
    monkeypatch.setattr(pod_watch.asyncio, "sleep", sleep)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(main())
    assert slept == pauses
