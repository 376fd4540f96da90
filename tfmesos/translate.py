"""The events of Mesos, as JSON, in our words."""

from __future__ import annotations

from typing import Any

from .events import (
    AgentLost,
    Disconnected,
    Event,
    InverseOffersReceived,
    OfferRescinded,
    OffersReceived,
    Subscribed,
    TaskUpdated,
)
from .offers import Offer

Json = dict[str, Any]


def translate(event: Json) -> Event | None:
    """None for events that mean nothing to a run."""
    match event:
        case {"type": "SUBSCRIBED", "subscribed": body}:
            return Subscribed(body["framework_id"]["value"], event.get("_master", ""))
        case {"type": "DISCONNECTED", "reason": reason}:
            return Disconnected(reason)
        case {"type": "OFFERS", "offers": body}:
            return OffersReceived(tuple(Offer.from_json(offer) for offer in body["offers"]))
        case {"type": "RESCIND", "rescind": body}:
            return OfferRescinded(body["offer_id"]["value"])
        case {"type": "INVERSE_OFFERS", "inverse_offers": {"inverse_offers": offers}}:
            return _inverse_offers(offers)
        case {"type": "UPDATE", "update": {"status": status}}:
            return _update(status)
        case {"type": "FAILURE", "failure": {"agent_id": agent_id, **rest}}:
            # With an executor id it is about that executor, and its tasks have their updates.
            return None if "executor_id" in rest else AgentLost(agent_id["value"])
    return None


def _inverse_offers(offers: list[Json]) -> InverseOffersReceived:
    agents = [offer["agent_id"]["value"] for offer in offers if "agent_id" in offer]
    return InverseOffersReceived(tuple(o["id"]["value"] for o in offers), tuple(agents))


def _update(status: Json) -> TaskUpdated:
    return TaskUpdated(
        task_id=status["task_id"]["value"],
        state=status["state"],
        message=status.get("message", ""),
        reason=status.get("reason", ""),
        source=status.get("source", ""),
        agent_id=status.get("agent_id", {}).get("value", ""),
    )
