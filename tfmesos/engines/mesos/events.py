"""Events from Mesos (past tense)."""

from __future__ import annotations

from ...errors import TFMesosError
from ...record import Record
from .feasibility import Holder, KnownAgent
from .offers import InverseOffer, Offer
from .quotas import Quota


class MesosEvent(Record):
    """Goes to the decider of this engine, and to no other."""


class Subscribed(MesosEvent):
    framework_id: str
    master: str


class Disconnected(MesosEvent):
    """The master is out of reach; the client tries again by itself."""

    reason: str


class MasterSought(MesosEvent):
    """An attempt to find a master failed for a new reason; there will be another one."""

    trouble: str


class MasterGaveUp(MesosEvent):
    """There will be no (further) subscription: the client has tried everything."""

    error: TFMesosError


class CallRefused(MesosEvent):
    """The master refused a call of ours although we are subscribed: it did none of it."""

    call: str  # its type, as ACCEPT
    reason: str
    task_ids: tuple[str, ...] = ()  # the tasks it was about


class OffersReceived(MesosEvent):
    offers: tuple[Offer, ...]


class OfferRescinded(MesosEvent):
    offer_id: str


class AgentsCounted(MesosEvent):
    """The agents of the master; None if it does not tell us."""

    agents: tuple[KnownAgent, ...] | None
    holders: tuple[Holder, ...] = ()  # other frameworks that use them, if it tells
    quotas: tuple[Quota, ...] = ()  # that limit our role, likewise


class InverseOffersReceived(MesosEvent):
    """The operator asks us to leave these agents, because of their maintenance."""

    offers: tuple[InverseOffer, ...]


class TaskUpdated(MesosEvent):
    """A status update."""

    task_id: str
    state: str
    message: str = ""
    reason: str = ""
    agent_id: str = ""


class AgentLost(MesosEvent):
    agent_id: str
