"""Decodes the events of Mesos from JSON."""

from __future__ import annotations

from ...json_types import Json
from ...sanitize import plain_all
from .api.json_values import text
from .events import (
    AgentLost,
    CallRefused,
    Disconnected,
    InverseOffersReceived,
    MesosEvent,
    OfferRescinded,
    OffersReceived,
    Subscribed,
    TaskUpdated,
)
from .offers import InverseOffer, Offer


def translate(event: Json, wall: float = 0.0) -> MesosEvent | None:
    """None for events that do not matter to a run; *wall* is the time of the event, since 1970."""
    match event:
        case {"type": "SUBSCRIBED", "subscribed": body}:
            return Subscribed(text(body["framework_id"]["value"]), event.get("_master", ""))
        case {"type": "DISCONNECTED", "reason": reason}:
            return Disconnected(reason)
        case {"type": "REFUSED", "call": call, "reason": reason, "task_ids": task_ids}:
            return CallRefused(call, reason, task_ids)
        case {"type": "OFFERS", "offers": body}:
            return OffersReceived(tuple(Offer.from_json(offer, wall) for offer in body["offers"]))
        case {"type": "RESCIND", "rescind": body}:
            return OfferRescinded(text(body["offer_id"]["value"]))
        case {"type": "INVERSE_OFFERS", "inverse_offers": {"inverse_offers": offers}}:
            return InverseOffersReceived(
                tuple(InverseOffer.from_json(offer, wall) for offer in offers)
            )
        case {"type": "UPDATE", "update": {"status": status}}:
            return _update(status)
        case {"type": "FAILURE", "failure": {"agent_id": agent_id, **rest}}:
            # With an executor id it is about that executor, and its tasks have their updates.
            return None if "executor_id" in rest else AgentLost(text(agent_id["value"]))
    return None


def _update(status: Json) -> TaskUpdated:
    return TaskUpdated(
        task_id=text(status["task_id"]["value"]),
        state=text(status["state"]),
        message=plain_all(text(status.get("message", "")), indent=""),
        reason=text(status.get("reason", "")),
        agent_id=text(status.get("agent_id", {}).get("value", "")),
    )
