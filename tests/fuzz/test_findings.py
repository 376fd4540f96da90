"""Each fuzzer for a moment, and what they found when they had longer."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings

from tests.mesos.embedded import LocalMesos
from tests.mesos.embedded.tests.asking import NODE, ask
from tests.mesos.embedded.tests.wire import Connection, Scheduler, framework, task
from tfmesos.engines.mesos.api.answers import event_of
from tfmesos.engines.mesos.api.json_values import NONSENSE
from tfmesos.engines.mesos.decode import translate
from tfmesos.engines.mesos.offers import Offer
from tfmesos.errors import FrameError

from .endpoints import fuzzed_endpoints
from .targets import EVENTS, OFFERS, TARGETS, check_events

A_MOMENT = settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("name", TARGETS)
def test_a_moment_of(name):
    target = TARGETS[name]
    A_MOMENT(given(target.inputs)(target.check))()


def test_a_moment_of_endpoints():
    with fuzzed_endpoints() as target:
        A_MOMENT(given(target.inputs)(target.check))()


# Findings


@pytest.mark.parametrize("record", [b"[" * 2000, b'{"a":' * 2000, b"[" * 100_000])
def test_a_record_that_is_nested_too_deeply_is_refused(record):
    with pytest.raises(FrameError):
        event_of(record)


@pytest.mark.parametrize("value", [None, True, [], {}, 3])
def test_an_id_that_is_no_text_is_nonsense(value):
    update = {"status": {"task_id": {"value": value}, "state": "TASK_RUNNING"}}
    with pytest.raises(NONSENSE):
        translate({"type": "UPDATE", "update": update})
    with pytest.raises(NONSENSE):
        translate({"type": "RESCIND", "rescind": {"offer_id": {"value": value}}})
    with pytest.raises(NONSENSE):
        Offer.from_json({**OFFERS[0], "id": {"value": value}})


@pytest.mark.parametrize("value", [None, "4", True, -1, float("nan"), float("inf"), 10**400])
def test_an_amount_that_is_none_is_nonsense(value):
    resource = {"name": "cpus", "type": "SCALAR", "scalar": {"value": value}, "role": "*"}
    with pytest.raises(NONSENSE):
        Offer.from_json({**OFFERS[0], "resources": [resource]})


@pytest.mark.parametrize("begin, end", [(5, 3), ("a", "b"), (1.5, 2), (None, None)])
def test_a_range_that_is_none_is_nonsense(begin, end):
    ranges = {"range": [{"begin": begin, "end": end}]}
    with pytest.raises(NONSENSE):
        Offer.from_json({**OFFERS[0], "resources": [{"name": "ports", "ranges": ranges}]})


@pytest.mark.parametrize("field", ["name", "role"])
def test_a_resource_with_a_name_or_role_that_is_no_text_is_nonsense(field):
    resource = {"name": "cpus", "scalar": {"value": 1}, "role": "*", field: ["x"]}
    with pytest.raises(NONSENSE):
        Offer.from_json({**OFFERS[0], "resources": [resource]})


@pytest.mark.parametrize("heartbeat", ["15", None, float("nan"), -1])
def test_a_strange_heartbeat_is_refused(heartbeat):
    (subscribed, *_) = [event for event in EVENTS if event["type"] == "SUBSCRIBED"]
    body = {**subscribed["subscribed"], "heartbeat_interval_seconds": heartbeat}
    check_events([{**subscribed, "subscribed": body}])


def test_credentials_in_bytes_that_are_no_base64_are_refused():
    answer = ask("/state", headers={"Authorization": "Basic \xe9"}, credential=("a", "b"))
    assert answer.status == 401


def test_an_offset_beyond_all_files_finds_nothing():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", "echo x"))
            await scheduler.state("t", "TASK_FINISHED")
            name = f"/frameworks/{scheduler.framework_id}/executors/t/runs/latest/stdout"
            path = f"/files/read?path={name}&offset={10**30}"
            connection = await Connection.open(mesos.url)
            answer = await connection.request(None, method="GET", path=path)
            connection.close()
            scheduler.close()
            return answer

    answer = asyncio.run(main())
    assert (answer.status, json.loads(answer.body)["data"]) == (200, "")
