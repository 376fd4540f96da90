"""News of the nodes under our tasks."""

from __future__ import annotations

from collections.abc import Collection

from .actions import Action, DeclineInverse, Say
from .gang import LONG_REFUSAL
from .roster import Roster
from .words import some


def agent_lost(members: Roster, agent_id: str) -> list[Action]:
    names = _living_on(members, {agent_id})
    text = f"the agent of {', '.join(names)} is lost to the master"
    return [Say(text, "warning")] if names else []


def keep(members: Roster, offer_ids: tuple[str, ...], agent_ids: Collection[str]) -> list[Action]:
    """A training cannot move: tell the user, and the operator that we stay."""
    names = _living_on(members, agent_ids)
    declined = DeclineInverse(offer_ids, LONG_REFUSAL)
    if not names:
        return [declined]
    text = f"the operator wants to take down the node of {some(names)}; we go on there"
    return [Say(text, "warning"), declined]


def _living_on(members: Roster, agent_ids: Collection[str]) -> list[str]:
    return [m.task.name for m in members if m.is_live and m.agent_id in agent_ids]
