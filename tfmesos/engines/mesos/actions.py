"""Actions of the Mesos engine for its client (imperative)."""

from __future__ import annotations

from ...record import Record
from .offers import Seat


class Launch(Record):
    """Accept these offers of one agent and start these tasks there."""

    agent_id: str
    hostname: str
    offer_ids: tuple[str, ...]
    seats: tuple[tuple[str, Seat], ...]  # task id and its seat


class Decline(Record):
    offer_ids: tuple[str, ...]
    refuse_seconds: float
    reason: str


class DeclineInverse(Record):
    """Tell the operator that we do not leave the agent."""

    offer_ids: tuple[str, ...]
    refuse_seconds: float


class Suppress(Record):
    """Ask for no more offers."""


class Revive(Record):
    """Ask for offers again, including those declined before."""


class CountAgents(Record):
    """Ask the master which agents there are."""


class KillTask(Record):
    task_id: str
    agent_id: str


class Reconcile(Record):
    """Ask the master what became of these tasks: pairs of task id and agent id."""

    tasks: tuple[tuple[str, str], ...]


MesosAction = (
    Launch | Decline | DeclineInverse | Suppress | Revive | CountAgents | KillTask | Reconcile
)
