"""What becomes of the pods of a run, told by servers that break off."""

from __future__ import annotations

import asyncio
import json
import time
from itertools import pairwise

import pytest

from tests.kubernetes.servers import answer, recorded_error, serving
from tfmesos.http.server import Answer
from tfmesos.kubernetes import events as happened
from tfmesos.kubernetes import pod_watch
from tfmesos.kubernetes.api.error import ApiError
from tfmesos.kubernetes.objects import Owner
from tfmesos.kubernetes.pod_watch import PodWatch

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


def watched(certificate, answers):
    """What is told until the pods were listed again."""
    told = []

    async def main():
        listed = asyncio.Event()

        def emit(event):
            told.append(event)
            if isinstance(event, happened.PodsListed):
                listed.set()

        async with serving({PODS: answers}, certificate) as (_, client):
            watch = PodWatch(client, Owner("run", "u"), emit, lambda pod, is_gone: None)
            task = asyncio.ensure_future(watch.run("1"))
            waiting = asyncio.ensure_future(listed.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            for one in (task, waiting):
                one.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            try:
                await task
            except asyncio.CancelledError:
                pass

    asyncio.run(main())
    return told


def test_a_server_that_has_restarted_may_not_know_yet_what_we_may_do(certificate):
    told = watched(certificate, [one_event, FORBIDDEN, FORBIDDEN, LIST, silent])
    assert isinstance(told[-2], happened.Reconnected)
    assert [pod.name for pod in told[-1].pods] == ["worker-0"]


def test_a_right_that_does_not_come_back_ends_the_watch(certificate, monkeypatch):
    monkeypatch.setattr(pod_watch, "NO_ROLES", 0.0)
    with pytest.raises(ApiError, match="not allowed to"):
        watched(certificate, [one_event, FORBIDDEN])


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
