"""What can happen to a run (past tense), in the words of lifecycle.py."""

from __future__ import annotations

from .census import Holder, KnownAgent
from .errors import TFMesosError
from .offers import Offer
from .record import Record


class Subscribed(Record):
    framework_id: str
    master: str


class Disconnected(Record):
    """The master is out of reach; the client tries again by itself."""

    reason: str


class MasterSought(Record):
    """An attempt to find a master failed for a new reason; there will be another one."""

    trouble: str


class MasterGaveUp(Record):
    """There will be no (further) subscription: the client has tried what it can."""

    error: TFMesosError


class CallRefused(Record):
    """The master refused a call of ours, though we are subscribed: it did nothing of it."""

    call: str  # its type, as ACCEPT
    reason: str
    task_ids: tuple[str, ...] = ()  # the tasks it was about


class OffersReceived(Record):
    offers: tuple[Offer, ...]


class OfferRescinded(Record):
    offer_id: str


class AgentsCounted(Record):
    """The agents that the master knows; None if it does not tell us."""

    agents: tuple[KnownAgent, ...] | None
    holders: tuple[Holder, ...] = ()  # other frameworks that use them, if it tells


class InverseOffersReceived(Record):
    """The operator asks us to leave these agents, because of their maintenance."""

    offer_ids: tuple[str, ...]
    agent_ids: tuple[str, ...]


class TaskUpdated(Record):
    """A status update of Mesos."""

    task_id: str
    state: str
    message: str = ""
    reason: str = ""
    source: str = ""
    agent_id: str = ""


class AgentLost(Record):
    agent_id: str


class TaskRegistered(Record):
    """A runner proved the secret and says at which address its task will listen."""

    task_id: str
    host: str
    port: int


class TaskReady(Record):
    """The command runs, or the TensorFlow server listens."""

    task_id: str


class TaskFellSilent(Record):
    """A command has written nothing for so many seconds; 0: it has begun to write again."""

    task_id: str
    seconds: float


class TaskExited(Record):
    """The runner reports how its command ended, after the last line of its output."""

    task_id: str
    code: int  # as a shell counts: 137 for SIGKILL
    reason: str  # "exited with 3", "was killed by SIGKILL", "its initializer exited with 1"
    tail: tuple[str, ...] = ()  # the last lines of its output
    was_stopped: bool = False  # by us, before it ended


class RunnerOutOfTouch(Record):
    """The runner's connection ended; it may come back within the grace time."""

    task_id: str


class RunnerBack(Record):
    """A runner that was out of touch is connected again."""

    task_id: str


class RunnerLost(Record):
    """The runner's connection ended, and it did not come back within the grace time."""

    task_id: str
    reason: str


class Ticked(Record):
    """A deadline of ``ClusterState.deadline()`` has come."""

    is_output_held: bool = False  # do tasks wait for us to take their output?


class StopRequested(Record):
    reason: str
    exit_code: int


Event = (
    Subscribed
    | Disconnected
    | MasterSought
    | MasterGaveUp
    | CallRefused
    | OffersReceived
    | OfferRescinded
    | AgentsCounted
    | InverseOffersReceived
    | TaskUpdated
    | AgentLost
    | TaskRegistered
    | TaskReady
    | TaskFellSilent
    | TaskExited
    | RunnerOutOfTouch
    | RunnerBack
    | RunnerLost
    | Ticked
    | StopRequested
)
