"""What can happen to a run (past tense), in the words of lifecycle.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from .errors import TFMesosError
from .offers import Offer


@dataclass(frozen=True, slots=True)
class Subscribed:
    framework_id: str
    master: str


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The master is out of reach; the client tries again by itself."""

    reason: str


@dataclass(frozen=True, slots=True)
class MasterGaveUp:
    """There will be no (further) subscription: the client has tried what it can."""

    error: TFMesosError


@dataclass(frozen=True, slots=True)
class OffersReceived:
    offers: tuple[Offer, ...]


@dataclass(frozen=True, slots=True)
class OfferRescinded:
    offer_id: str


@dataclass(frozen=True, slots=True)
class InverseOffersReceived:
    """The operator asks us to leave these agents, because of their maintenance."""

    offer_ids: tuple[str, ...]
    agent_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskUpdated:
    """A status update of Mesos."""

    task_id: str
    state: str
    message: str = ""
    reason: str = ""
    source: str = ""
    agent_id: str = ""


@dataclass(frozen=True, slots=True)
class AgentLost:
    agent_id: str


@dataclass(frozen=True, slots=True)
class TaskRegistered:
    """A runner proved the secret and says at which address its task will listen."""

    task_id: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class TaskReady:
    """The command runs, or the TensorFlow server listens."""

    task_id: str


@dataclass(frozen=True, slots=True)
class TaskExited:
    """The runner reports how its command ended, after the last line of its output."""

    task_id: str
    code: int  # as a shell counts: 137 for SIGKILL
    reason: str  # "exited with 3", "was killed by SIGKILL", "its initializer exited with 1"
    tail: tuple[str, ...] = field(default=())  # the last lines of its output


@dataclass(frozen=True, slots=True)
class RunnerLost:
    """The runner's connection ended, and it did not come back within the grace time."""

    task_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ticked:
    """A deadline of ``ClusterState.deadline()`` has come."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    reason: str
    exit_code: int


Event = (
    Subscribed
    | Disconnected
    | MasterGaveUp
    | OffersReceived
    | OfferRescinded
    | InverseOffersReceived
    | TaskUpdated
    | AgentLost
    | TaskRegistered
    | TaskReady
    | TaskExited
    | RunnerLost
    | Ticked
    | StopRequested
)
