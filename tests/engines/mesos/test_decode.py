"""Events as a genuine Mesos sent them."""

import json
from pathlib import Path

import pytest

from tfmesos.engines.mesos.decode import translate
from tfmesos.engines.mesos.events import (
    AgentLost,
    Disconnected,
    OfferRescinded,
    Subscribed,
    TaskUpdated,
)

TRANSCRIPTS = Path(__file__).parents[2] / "transcripts"


def recorded(name, kind):
    """The events of this kind in a recording."""
    records = map(json.loads, (TRANSCRIPTS / name).read_text().splitlines())
    return [r["event"] for r in records if r["dir"] == "event" and r["event"]["type"] == kind]


def test_an_offer_tells_when_its_node_is_to_be_taken_down():
    hour = 3600
    start = {"start": {"nanoseconds": 1794792431267896576}}
    (whole, past, forever, free) = [
        {"id": {"value": "o"}, "agent_id": {"value": "a"}, **plan}
        for plan in (
            {"unavailability": {**start, "duration": {"nanoseconds": 1800 * 10**9}}},
            {"unavailability": {**start, "duration": {"nanoseconds": 10**9}}},
            {"unavailability": start},
            {},
        )
    ]

    def down_in(offer, wall):
        (found,) = translate({"type": "OFFERS", "offers": {"offers": [offer]}}, wall).offers
        return found.down_in, found.is_lasting

    at = 1794792431.267896576
    assert down_in(whole, at - hour / 2) == (pytest.approx(hour / 2), False)
    assert down_in(whole, at - 2 * hour) == (pytest.approx(2 * hour), True)
    assert down_in(whole, at + 60) == (0.0, False)
    assert down_in(past, at + 60) == (None, True)
    assert down_in(forever, at + hour) == (0.0, False)
    assert down_in(free, at) == (None, True)


def test_a_recorded_subscription_gives_the_framework_id():
    event = recorded("02-launch.jsonl", "SUBSCRIBED")[0]
    found = translate({**event, "_master": "http://m:5050"})
    assert found == Subscribed(event["subscribed"]["framework_id"]["value"], "http://m:5050")


def test_recorded_offers_have_hosts_and_resources():
    offers = [o for e in recorded("02-launch.jsonl", "OFFERS") for o in translate(e).offers]
    assert offers and all(o.hostname.startswith("node-") and o.total.cpus > 0 for o in offers)


def test_recorded_updates_have_state_agent_and_message():
    updates = [translate(event) for event in recorded("02-launch.jsonl", "UPDATE")]
    assert {u.state for u in updates} >= {"TASK_STARTING", "TASK_RUNNING", "TASK_FINISHED"}
    assert all(isinstance(u, TaskUpdated) and u.task_id and u.agent_id for u in updates)


def test_a_rescinded_offer_and_a_lost_agent_are_named():
    assert translate({"type": "RESCIND", "rescind": {"offer_id": {"value": "o"}}}) == (
        OfferRescinded("o")
    )
    assert translate({"type": "FAILURE", "failure": {"agent_id": {"value": "a"}}}) == AgentLost("a")


def test_an_inverse_offer_names_its_agent_and_when_it_is_taken_down():
    plan = {"start": {"nanoseconds": 90 * 10**9}}
    offer = {"id": {"value": "i"}, "agent_id": {"value": "a"}, "unavailability": plan}
    event = {"type": "INVERSE_OFFERS", "inverse_offers": {"inverse_offers": [offer]}}
    (found,) = translate(event, 30.0).offers
    assert (found.id, found.agent_id, found.down_in) == ("i", "a", 60.0)


def test_a_failed_executor_is_no_lost_agent():
    failure = {"agent_id": {"value": "a"}, "executor_id": {"value": "e"}, "status": 0}
    assert translate({"type": "FAILURE", "failure": failure}) is None


def test_a_lost_master_is_told_with_its_reason():
    assert translate({"type": "DISCONNECTED", "reason": "reset"}) == Disconnected("reset")


def test_events_of_a_later_mesos_mean_nothing():
    assert translate({"type": "SOMETHING_NEW"}) is None
